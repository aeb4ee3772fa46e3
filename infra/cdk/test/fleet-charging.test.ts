import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import test from "node:test";

import { App, Stack } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";

import { FleetCharging, type Parameters, TEMPLATE } from "../lib/fleet-charging";

type Resources = Record<string, { Type: string; Metadata?: unknown; Properties?: Record<string, unknown> }>;

function synthesized(parameters: Parameters = {}): Template {
  const executable = fs.mkdtempSync(path.join(os.tmpdir(), "fleet-"));
  fs.writeFileSync(path.join(executable, "bootstrap"), "executable");
  const stack = new Stack(new App(), "Test");
  new FleetCharging(stack, "Service", { executable, parameters });
  return Template.fromStack(stack);
}

/** What a node of the YAML file means, with CloudFormation's functions written in full. */
function meaning(node: unknown): unknown {
  const value = isMap(node)
    ? Object.fromEntries(node.items.map((item) => [String(item.key), meaning(item.value)]))
    : isSeq(node)
      ? node.items.map(meaning)
      : isScalar(node)
        ? node.value
        : null;
  const tag = (node as { tag?: string } | null)?.tag;
  if (!tag?.startsWith("!")) return value;
  return { [tag === "!Ref" ? "Ref" : `Fn::${tag.slice(1)}`]: value };
}

/** The same whichever way `Fn::GetAtt` is written. */
function alike(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(alike);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, held]) =>
    name === "Fn::GetAtt" && Array.isArray(held) ? [name, held.join(".")] : [name, alike(held)],
  );
  return Object.fromEntries(members);
}

function written(): Record<string, unknown> {
  const document = parseDocument(fs.readFileSync(TEMPLATE, "utf8"), { logLevel: "silent" });
  return alike(meaning(document.contents)) as Record<string, unknown>;
}

test("every resource is the one of the template, but for where its code lies", () => {
  const wanted = written()["Resources"] as Resources;
  const found = alike(synthesized().toJSON().Resources) as Resources;
  assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort());
  for (const [name, resource] of Object.entries(found)) {
    const expected = wanted[name];
    assert.ok(expected);
    delete resource.Metadata;
    delete expected.Metadata;
    if (resource.Type === "AWS::Serverless::Function") {
      const code = resource.Properties?.["CodeUri"] as { Key: string };
      assert.match(code.Key, /^[0-9a-f]{64}\.zip$/);
      delete resource.Properties?.["CodeUri"];
    }
    assert.deepEqual(resource, expected, name);
  }
});

/** By the handler of each function, what starts it and what its role may do. */
function promises(resources: Resources): Record<string, { events: unknown; role: unknown }> {
  const functions = Object.values(resources).filter((one) => one.Type === "AWS::Serverless::Function");
  const entries = functions.map((one) => {
    const { Handler, Events, Role } = one.Properties as { Handler: string; Events: unknown; Role: { "Fn::GetAtt": string } };
    const role = Role["Fn::GetAtt"].split(".")[0] ?? "";
    return [Handler, { events: Events ?? {}, role: resources[role]?.Properties }] as const;
  });
  return Object.fromEntries(entries);
}

test("functions, routes and permissions are those of the template", () => {
  const found = promises(alike(synthesized().toJSON().Resources) as Resources);
  assert.deepEqual(found, promises(written()["Resources"] as Resources));
  const events = Object.values(found).flatMap((one) => Object.values(one.events as Record<string, { Type: string }>));
  assert.ok(events.filter((one) => one.Type === "HttpApi").length > 75);
  assert.ok(Object.values(found).every((one) => one.role));
});

test("what all functions have in common, and what the stack tells, are those of the template", () => {
  const found = alike(synthesized().toJSON()) as Record<string, unknown>;
  const wanted = written();
  delete (wanted["Globals"] as { Function: Record<string, unknown> }).Function["CodeUri"];
  delete (found["Globals"] as { Function: Record<string, unknown> }).Function["CodeUri"];
  for (const section of ["Globals", "Conditions", "Outputs"]) {
    assert.deepEqual(found[section], wanted[section], section);
  }
});

test("functions share one executable", () => {
  const functions = Object.values(synthesized().findResources("AWS::Serverless::Function"));
  assert.ok(functions.length > 80);
  assert.equal(new Set(functions.map((one) => one.Properties.CodeUri.Key)).size, 1);
});

test("a function that reads has no right to write", () => {
  const template = synthesized();
  const reading = Object.entries(template.findResources("AWS::Serverless::Function")).filter(([, one]) =>
    one.Properties.Description.startsWith("GET /v1/"),
  );
  assert.ok(reading.length > 30);
  const roles = template.findResources("AWS::IAM::Role");
  for (const [name] of reading) {
    assert.doesNotMatch(JSON.stringify(roles[`${name}Role`]), /dynamodb:(Put|Update|Delete|BatchWrite)/, name);
  }
});

test("the table and the files are kept and guarded", () => {
  const template = synthesized();
  template.hasResource("AWS::DynamoDB::Table", {
    DeletionPolicy: "RetainExceptOnCreate",
    Properties: Match.objectLike({
      BillingMode: "PAY_PER_REQUEST",
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
    }),
  });
  template.hasResourceProperties("AWS::S3::Bucket", {
    PublicAccessBlockConfiguration: Match.objectLike({ BlockPublicPolicy: true, RestrictPublicBuckets: true }),
  });
});

test("parameters are set, and nothing is deployed without an executable", () => {
  synthesized({ Stage: "live", RateLive: 500 }).hasParameter("RateLive", { Default: 500 });
  const build = () => new FleetCharging(new Stack(new App(), "Test"), "Service", { executable: os.tmpdir() });
  assert.throws(build, /holds no bootstrap/);
});
