// Verifies deliveries with the Node libraries of Stripe, Standard Webhooks and Svix: node verify.mjs FILE FOLDER. The folder has the packages.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [file, folder] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const Stripe = require("stripe");
const standard = require("standardwebhooks");
const svix = require("svix");

const stripe = new (Stripe.default ?? Stripe)("sk_test_none");
const verifiers = {
  stripe: (body, headers, secret) => stripe.webhooks.constructEvent(body, headers["service-signature"], secret),
  standardwebhooks: (body, headers, secret) => new standard.Webhook(secret).verify(body, headers),
  svix: (body, headers, secret) => new svix.Webhook(secret).verify(body, headers),
};

let checks = 0;
function refuses(name, what, body, headers, secret) {
  try {
    verifiers[name](body, headers, secret);
  } catch (error) {
    if (!/Signature|Webhook/.test(error.constructor.name)) throw error;
    checks += 1;
    return;
  }
  throw new Error(`${name} accepts a delivery with ${what}`);
}

const clock = Date.now;
for (const [name, verify] of Object.entries(verifiers)) {
  for (const { body, headers, secrets, wrong_secrets } of JSON.parse(readFileSync(file, "utf8"))) {
    for (const secret of secrets) {
      verify(body, headers, secret);
      checks += 1;
      refuses(name, "another body", `${body} `, headers, secret);
      refuses(name, "a changed body", body.replace("ping", "pong"), headers, secret);
      const forged = {
        "service-signature": headers["service-signature"].replaceAll("v1=", "v1=0"),
        "webhook-signature": headers["webhook-signature"].replaceAll("v1,", "v1,A"),
        "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 1),
        "webhook-id": `${headers["webhook-id"]}0`,
      };
      for (const [header, value] of Object.entries(forged)) {
        if ((header === "service-signature") === (name === "stripe")) {
          refuses(name, `another ${header}`, body, { ...headers, [header]: value }, secret);
        }
      }
      // Stripe's library does not refuse what comes from the future.
      for (const minutes of name === "stripe" ? [10] : [-10, 10]) {
        Date.now = () => clock() + minutes * 60_000;
        refuses(name, `a clock ${minutes} minutes off`, body, headers, secret);
        Date.now = clock;
      }
    }
    for (const secret of wrong_secrets) refuses(name, "a wrong secret", body, headers, secret);
  }
}
console.log(`Node: ${checks} checks`);
