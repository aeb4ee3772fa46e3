import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import test from "node:test";

import { App, Duration, Stack } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { AccountRootPrincipal, Role } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Topic } from "aws-cdk-lib/aws-sns";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";

import { FleetCharging, type FleetChargingProps, TEMPLATES } from "../lib/fleet-charging";

type Resource = { Type: string; DependsOn?: string | string[]; Metadata?: unknown; Properties: Record<string, unknown> };
type Resources = Record<string, Resource>;
type Written = Record<string, unknown> & { Resources: Resources };

function executables(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fleet-"));
  for (const name of ["assistants", "core", "functions"]) {
    fs.mkdirSync(path.join(folder, name));
    fs.writeFileSync(path.join(folder, name, "bootstrap"), name);
  }
  return folder;
}

/** The service in a stack, and the templates that are synthesized: the root's, and those of the nested stacks by their names. */
function synthesized(props: (stack: Stack) => Partial<FleetChargingProps> = () => ({})) {
  const app = new App();
  const stack = new Stack(app, "Test");
  const service = new FleetCharging(stack, "Service", { executables: executables(), ...props(stack) });
  const role = new Role(stack, "Operator", { assumedBy: new AccountRootPrincipal() });
  service.grantBootstrap(role);
  service.grantImportStations(role);
  service.table.grantReadData(role);
  const assembly = app.synth();
  const root = JSON.parse(fs.readFileSync(assembly.getStackByName("Test").templateFullPath, "utf8")) as Written;
  const nested: Record<string, Written> = {};
  for (const file of fs.readdirSync(assembly.directory).filter((file) => file.endsWith(".nested.template.json"))) {
    const name = /([A-Za-z]+Stack)[0-9A-F]{8}\.nested/.exec(file)?.[1] ?? file;
    const id = Object.keys(root.Resources).find((id) => name.endsWith(id)) ?? name;
    nested[id] = JSON.parse(fs.readFileSync(path.join(assembly.directory, file), "utf8")) as Written;
  }
  return { service, root, nested, template: Template.fromStack(stack) };
}

/** What a node of a YAML file means, with CloudFormation's functions written in full. */
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

function written(file: string): Written {
  const document = parseDocument(fs.readFileSync(path.join(TEMPLATES, file), "utf8"), { logLevel: "silent" });
  return alike(meaning(document.contents)) as Written;
}

const NESTED = fs.readdirSync(path.join(TEMPLATES, "stacks"));

function idOf(file: string): string {
  const name = path.basename(file, ".yaml");
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Stack`;
}

test("every resource of a nested stack is that of its template, but for where the code lies", () => {
  const { nested } = synthesized();
  assert.deepEqual(Object.keys(nested).sort(), NESTED.map(idOf).sort());
  const packages = new Map<string, string>();
  for (const file of NESTED) {
    const wanted = written(`stacks/${file}`);
    const found = alike(nested[idOf(file)]) as Written;
    for (const [id, resource] of Object.entries(found.Resources)) {
      if (resource.Type !== "AWS::Serverless::Function") continue;
      const key = (resource.Properties["CodeUri"] as { Key: string }).Key;
      const { BuildProperties } = wanted.Resources[id]?.Metadata as { BuildProperties: { Binary: string } };
      assert.equal(packages.get(key) ?? BuildProperties.Binary, BuildProperties.Binary, id);
      packages.set(key, BuildProperties.Binary);
      delete resource.Properties["CodeUri"];
    }
    for (const resources of [wanted.Resources, found.Resources]) {
      for (const resource of Object.values(resources)) delete resource.Metadata;
    }
    assert.deepEqual(found.Resources, wanted.Resources, file);
    for (const section of ["Parameters", "Conditions"]) assert.deepEqual(found[section], wanted[section], file);
  }
  assert.deepEqual([...packages.values()].sort(), ["assistants", "core", "functions"]);
  for (const key of packages.keys()) assert.match(key, /^[0-9a-f]{64}\.zip$/);
});

test("the root stack has the resources of its template, and sets the same parameters of nested stacks", () => {
  const { root } = synthesized();
  const wanted = written("template.yaml").Resources;
  const found = root.Resources;
  for (const [id, resource] of Object.entries(wanted)) {
    assert.equal(found[id]?.Type, resource.Type, id);
    if (resource.Type !== "AWS::CloudFormation::Stack") continue;
    const set = found[id]?.Properties["Parameters"] as object;
    assert.deepEqual(Object.keys(set).sort(), Object.keys(resource.Properties["Parameters"] as object).sort(), id);
  }
});

test("no output names a command of sam", () => {
  const wanted = Object.keys(written("template.yaml")["Outputs"] as object);
  const outputs = synthesized().root["Outputs"] as object;
  assert.deepEqual(wanted.filter((name) => !(name in outputs)), ["ProtectCommand"]);
  assert.doesNotMatch(JSON.stringify(outputs), /sam deploy/);
});

test("the nested stacks with routes are deployed one after the other", () => {
  const { root, nested } = synthesized();
  const wanted = written("template.yaml").Resources;
  const hasRoutes = (id: string) => Object.values(nested[id]?.Resources ?? {}).some(({ Type }) => Type === "AWS::ApiGatewayV2::Route");
  let before = "ApiStage";
  for (const id of Object.keys(wanted).filter(hasRoutes)) {
    assert.equal(wanted[id]?.DependsOn, before, id);
    assert.deepEqual(root.Resources[id]?.DependsOn, [before], id);
    before = id;
  }
  assert.notEqual(before, "ApiStage");
});

test("a write ceiling and a budget are there when the props name them", () => {
  const { root, template } = synthesized(() => ({ writeCeiling: 4000, budget: { monthly: 250, email: "ops@example.com" } }));
  for (const name of ["HasWriteCeiling", "HasBudget"]) template.hasCondition(name, { "Fn::Equals": ["true", "true"] });
  assert.match(JSON.stringify(root.Resources["Table"]?.Properties["OnDemandThroughput"]), /"MaxWriteRequestUnits":"?4000/);
  assert.match(JSON.stringify(root.Resources["Budget"]?.Properties), /"Amount":"?250.*ops@example\.com/);
  const { template: without } = synthesized();
  for (const name of ["HasWriteCeiling", "HasBudget"]) without.hasCondition(name, { "Fn::Equals": ["false", "true"] });
});

test("the table is protected when the props say so, and not in a first deployment without them", () => {
  const protection = (props: Partial<FleetChargingProps>) => {
    const { root } = synthesized(() => props);
    return String(root.Resources["Table"]?.Properties["DeletionProtectionEnabled"]);
  };
  assert.equal(protection({}), "false");
  assert.equal(protection({ deletionProtection: true }), "true");
});

test("props are values of the template, not parameters that a later deployment would keep", () => {
  const { root } = synthesized(() => ({ stage: "live", rateLive: 500, deletionProtection: false, reportRetention: Duration.days(7) }));
  assert.deepEqual(Object.keys((root["Parameters"] ?? {}) as object), ["BootstrapVersion"]);
  const declared = Object.keys(written("template.yaml")["Parameters"] as object);
  const text = JSON.stringify(root);
  for (const name of declared) assert.ok(!text.includes(`{"Ref":"${name}"}`), `${name} is no value`);
  const handed = root.Resources["FleetsStack"]?.Properties["Parameters"] as Record<string, unknown>;
  assert.equal(handed["Stage"], "live");
  assert.equal(String(handed["RateLive"]), "500");
  assert.equal(String(handed["RateTest"]), "25");
  const table = root.Resources["Table"]?.Properties;
  assert.equal(String(table?.["DeletionProtectionEnabled"]), "false");
});

test("numbers that functions read at their start are whole", () => {
  for (const rateTest of [2.5, -1, NaN]) assert.throws(() => synthesized(() => ({ rateTest })), /whole number/);
});

test("constructs of the same app can be props, although their names are known only later", () => {
  const { root, template } = synthesized((stack) => ({
    canary: "Canary10Percent5Minutes",
    domain: { name: "api.example.com", certificate: Certificate.fromCertificateArn(stack, "Certificate", "arn:aws:acm:eu-west-1:1:certificate/1") },
    encryptionKey: new Key(stack, "Key"),
    alarmTopic: new Topic(stack, "Topic"),
    stripeSecret: new Secret(stack, "Stripe"),
  }));
  for (const name of ["HasDomain", "HasKey", "HasAlarmTopic", "HasCanary"]) {
    template.hasCondition(name, { "Fn::Equals": ["true", "true"] });
  }
  const handed = root.Resources["PaymentsStack"]?.Properties["Parameters"] as Record<string, unknown>;
  assert.match(JSON.stringify(handed["KeyArn"]), /"Fn::GetAtt":\["Key/);
  assert.match(JSON.stringify(handed["StripeSecret"]), /"Ref":"Stripe/);
  assert.equal(handed["Canary"], "Canary10Percent5Minutes");
});

test("the template's conditions do not hold without the props", () => {
  const { template } = synthesized();
  for (const name of ["HasDomain", "HasKey", "HasAlarmTopic", "HasCanary"]) {
    template.hasCondition(name, { "Fn::Equals": ["false", "true"] });
  }
});

test("the API allows the console's origin and no other", () => {
  const cors = (props: Partial<FleetChargingProps>) => {
    const { root, template } = synthesized(() => props);
    template.hasCondition("ConsoleHosted", { "Fn::Equals": [props.console === "cloudfront" ? "true" : "false", "true"] });
    template.hasCondition("ConsoleAllowed", { "Fn::Equals": [props.console ? "true" : "false", "true"] });
    return JSON.stringify(root.Resources["Api"]?.Properties["CorsConfiguration"]);
  };
  assert.match(cors({ console: "https://console.example.com" }), /"https:\/\/console\.example\.com"/);
  assert.match(cors({ console: "cloudfront" }), /ConsoleDistribution/);
  cors({});
});

test("the default endpoint of an API with a domain is enabled only if the props say so", () => {
  const disabled = (defaultEndpoint?: boolean) => {
    const { root, template } = synthesized((stack) => {
      const certificate = Certificate.fromCertificateArn(stack, "Certificate", "arn:aws:acm:eu-west-1:1:certificate/1");
      return { domain: { name: "api.example.com", certificate, ...(defaultEndpoint !== undefined && { defaultEndpoint }) } };
    });
    template.hasCondition("DefaultEndpointDisabled", { "Fn::Equals": [String(!defaultEndpoint), "true"] });
    return JSON.stringify(root.Resources["Api"]?.Properties["DisableExecuteApiEndpoint"]);
  };
  const both = '{"Fn::If":["HasDomain",{"Fn::If":["DefaultEndpointDisabled",true,false]},false]}';
  assert.equal(disabled(), both);
  assert.equal(disabled(true), both);
});

test("the table and the files are kept and guarded", () => {
  const { template } = synthesized();
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

test("grants name the aliases of functions, the table and the files", () => {
  const { template, service } = synthesized();
  const policies = JSON.stringify(template.findResources("AWS::IAM::Policy", { Properties: { Roles: [{ Ref: Match.stringLikeRegexp("^Operator") }] } }));
  assert.match(policies, /lambda:InvokeFunction/);
  assert.match(policies, /Test-bootstrap-account:live/);
  assert.match(policies, /Test-import-stations:live/);
  assert.match(policies, /stations\/\*/);
  assert.match(policies, /dynamodb:GetItem/);
  assert.ok(service.alarms.length > 40);
  assert.equal(service.nestedResource("FleetsStack", "CreateFleet").cfnResourceType, "AWS::Serverless::Function");
  assert.throws(() => service.nestedResource("NoStack", "CreateFleet"), /NoStack is none of AccountsStack/);
});

test("nothing is deployed without an executable", () => {
  const empty = fs.mkdtempSync(path.join(os.tmpdir(), "fleet-empty-"));
  const build = () => new FleetCharging(new Stack(new App(), "Test"), "Service", { executables: empty });
  assert.throws(build, /holds no bootstrap/);
});

test("the package works in another project: packed, installed and synthesized with its types", () => {
  const here = path.join(__dirname, "..");
  const project = fs.mkdtempSync(path.join(os.tmpdir(), "fleet-project-"));
  const run = (command: string, args: string[], cwd: string) => execFileSync(command, args, { cwd, encoding: "utf8" });
  const packed = run("npm", ["pack", "--silent", "--pack-destination", project], here).trim().split("\n").at(-1) ?? "";
  const { devDependencies } = JSON.parse(fs.readFileSync(path.join(here, "package.json"), "utf8"));
  const wanted = ["aws-cdk-lib", "constructs", "typescript", "@types/node"].map((name) => `${name}@${devDependencies[name]}`);
  fs.writeFileSync(path.join(project, "package.json"), "{}");
  run("npm", ["install", "--silent", "--no-fund", "--no-audit", "--prefer-offline", `./${packed}`, ...wanted], project);
  fs.writeFileSync(
    path.join(project, "app.ts"),
    `import { App, Stack } from "aws-cdk-lib";
import { FleetCharging } from "fleet-charging-cdk";
const app = new App({ outdir: "cdk.out" });
const service = new FleetCharging(new Stack(app, "Elsewhere"), "Service", { executables: process.argv[2] as string, rateLive: 7 });
if (!service.apiUrl) throw new Error("no address");
app.synth();
`,
  );
  run("npx", ["tsc", "--strict", "--skipLibCheck", "--types", "node", "--module", "node16", "--target", "es2022", "app.ts"], project);
  run("node", ["app.js", executables()], project);
  const made = fs.readdirSync(path.join(project, "cdk.out"));
  assert.ok(made.includes("Elsewhere.template.json"));
  assert.equal(made.filter((file) => file.endsWith(".nested.template.json")).length, NESTED.length);
  assert.match(fs.readFileSync(path.join(project, "cdk.out", "Elsewhere.template.json"), "utf8"), /"RateLive": ?"7"/);
  fs.rmSync(project, { recursive: true });
});
