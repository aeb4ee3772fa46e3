/** Receives webhooks with Express. WEBHOOK_SECRET is the secret of the endpoint, `whsec_…`. */
import express from "express";
import { SignatureVerificationError, webhooks } from "fleet-charging";
import { handle } from "./events.ts";

const secret = process.env["WEBHOOK_SECRET"];
if (!secret) throw new Error("WEBHOOK_SECRET is needed.");

const app = express();
// The raw body is what was signed: no parser of JSON may come before it.
app.post("/webhooks", express.raw({ type: "*/*", limit: "1mb" }), async (request, response) => {
  try {
    const event = await webhooks.verify(request.body, request.headers, secret);
    // The response is sent first: a delivery that takes longer than 15 seconds is repeated.
    response.sendStatus(204);
    await handle(event);
  } catch (error) {
    if (!(error instanceof SignatureVerificationError)) throw error;
    response.status(400).send(error.message);
  }
});
app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1");
