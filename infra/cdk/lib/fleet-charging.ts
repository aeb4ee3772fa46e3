import * as fs from "node:fs";
import * as path from "node:path";

import { ArnFormat, type CfnResource, type Duration, Fn, Stack, Validations } from "aws-cdk-lib";
import type { ICertificate } from "aws-cdk-lib/aws-certificatemanager";
import { HttpApi, type IHttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import { Alarm, type CfnAlarm, type CfnCompositeAlarm, type IAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { type ITable, Table } from "aws-cdk-lib/aws-dynamodb";
import { type Grant, type IGrantable, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { type Architecture, Function as LambdaFunction, type IFunction } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { CfnFunction } from "aws-cdk-lib/aws-sam";
import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { Construct } from "constructs";

/** The folder of the templates that `sam` deploys: in the package, or in the repository. */
export const TEMPLATES = [path.join(__dirname, "..", "templates"), path.join(__dirname, "..", "..")].find((folder) =>
  fs.existsSync(path.join(folder, "template.yaml")),
) as string;

/** How requests go over to new versions of functions; all but `AllAtOnce` by CodeDeploy, which goes back when an alarm rings. */
export type Canary =
  | "AllAtOnce"
  | "Canary10Percent5Minutes"
  | "Canary10Percent10Minutes"
  | "Canary10Percent15Minutes"
  | "Canary10Percent30Minutes"
  | "Linear10PercentEvery1Minute"
  | "Linear10PercentEvery2Minutes"
  | "Linear10PercentEvery3Minutes"
  | "Linear10PercentEvery10Minutes";

/** What differs from one deployment to the next. What is left out has the default of the template. */
export interface FleetChargingProps {
  /** The folder that holds `assistants/bootstrap`, `core/bootstrap` and `functions/bootstrap`: what `cargo lambda build` leaves. */
  readonly executables: string;
  /** Which deployment this is, a tag on everything: `dev` by default. */
  readonly stage?: string;
  /** What the executables were built for: arm64 by default. */
  readonly architecture?: Architecture;
  readonly canary?: Canary;
  /**
   * Whether the table refuses to be deleted: false by default, so that a first deployment that fails leaves no table behind. Set it to
   * true after the first deployment.
   */
  readonly deletionProtection?: boolean;
  /** Whether roles are limited to the partition keys that their functions use (`dynamodb:LeadingKeys`): true by default. */
  readonly leadingKeys?: boolean;
  /**
   * The API's own domain. Point its record at the output `DomainTarget`. With `defaultEndpoint` the API can also be reached at the
   * address that AWS gives it, as while clients move to the domain; false by default.
   */
  readonly domain?: { readonly name: string; readonly certificate: ICertificate; readonly defaultEndpoint?: boolean };
  /** Requests per second that the API lets through in all. */
  readonly apiRate?: number;
  /** Requests that the API lets through at once. */
  readonly apiBurst?: number;
  /** Requests per second of one account together with all accounts below it, in test mode. */
  readonly rateTest?: number;
  /** The same in live mode. */
  readonly rateLive?: number;
  /** Requests per second that each charging network may send. */
  readonly rateNetwork?: number;
  /** Who this service is among charging networks (OCPI). */
  readonly party?: { readonly countryCode: string; readonly partyId: string; readonly name?: string };
  /** Accounts that one account may have below it. */
  readonly maxChildren?: number;
  /** Webhook endpoints in one mode that one account may have together with all accounts below it. */
  readonly maxEndpoints?: number;
  /** The fee of a reservation, in the smallest unit of its currency. */
  readonly reservationFee?: number;
  /** How long a reservation can be cancelled free of charge after its confirmation, however soon it starts; in whole seconds. */
  readonly lateCancellation?: Duration;
  /**
   * By how much what a charging network bills for a session may exceed the service's own price without a review, by currency in its
   * smallest unit: `eur:1000,jpy:2000`. At most 128 characters.
   */
  readonly reviewTolerances?: string;
  /** What a kWh is assumed to cost in a review where the station's tariff is not known, in the same form. */
  readonly assumedPrices?: string;
  /** The secret that holds the key of Stripe; without it there are no payments in live mode. */
  readonly stripeSecret?: ISecret;
  /**
   * The web console: `"cloudfront"` for a bucket behind CloudFront, to which the output `ConsoleUploadCommand` uploads it, or the
   * origin of another static host, such as `https://console.example.com`. Without it the API allows no origin (CORS).
   */
  readonly console?: "cloudfront" | `https://${string}`;
  readonly logLevel?: "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR";
  readonly logRetention?: RetentionDays;
  /** Whether traces are sent to X-Ray. */
  readonly tracing?: boolean;
  /** The topic that alarms are sent to. */
  readonly alarmTopic?: ITopic;
  /**
   * A key for the table, queues, files, logs and secrets. CloudWatch Logs is admitted by the construct, unless the key is imported. Set
   * it with the first deployment: to set or change it later interrupts the service.
   */
  readonly encryptionKey?: IKey;
  /** How many instances of a function work on one queue at a time. */
  readonly workerConcurrency?: number;
  /** An alarm rings when so many functions of the AWS account and region run at once. */
  readonly concurrencyAlarm?: number;
  /** Write units per second that the table takes at most; without it, the table has no ceiling of its own. To leave it out later may not lift it. */
  readonly writeCeiling?: number;
  /** Dollars that the AWS account is to cost in a month, and who is told when it costs more or is forecast to. */
  readonly budget?: { readonly monthly: number; readonly email: string };
  /** How long the files of reports are kept, in whole days. */
  readonly reportRetention?: Duration;
  /** Another text after a secret was changed, so that functions are given the new one. */
  readonly secretsGeneration?: string;
}

/** The values of the template's parameters that follow from the props. */
function parameters(props: FleetChargingProps): Record<string, string | undefined> {
  const text = (value?: number | boolean): string | undefined => (value === undefined ? undefined : String(value));
  // The patterns of the template are not applied to values of props. Functions read these numbers at their start.
  const whole = (name: string, value?: number, least = 0): string | undefined => {
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value < 1e9)) {
      throw new Error(`${name} is ${value}, not a whole number from ${least} to 999999999`);
    }
    return text(value);
  };
  return {
    Stage: props.stage,
    Architecture: props.architecture?.name,
    Canary: props.canary,
    DeletionProtection: text(props.deletionProtection),
    LeadingKeys: text(props.leadingKeys),
    DomainName: props.domain?.name,
    CertificateArn: props.domain?.certificate.certificateArn,
    DefaultEndpoint: props.domain?.defaultEndpoint ? "enabled" : "disabled",
    ApiRate: text(props.apiRate),
    ApiBurst: text(props.apiBurst),
    RateTest: whole("rateTest", props.rateTest, 1),
    RateLive: whole("rateLive", props.rateLive, 1),
    RateNetwork: whole("rateNetwork", props.rateNetwork, 1),
    OcpiCountryCode: props.party?.countryCode,
    OcpiPartyId: props.party?.partyId,
    OcpiName: props.party?.name,
    MaxChildren: whole("maxChildren", props.maxChildren),
    MaxEndpoints: whole("maxEndpoints", props.maxEndpoints, 1),
    ReservationFee: whole("reservationFee", props.reservationFee),
    LateCancellationSeconds: whole("lateCancellation", props.lateCancellation?.toSeconds()),
    ReviewTolerances: props.reviewTolerances,
    AssumedPrices: props.assumedPrices,
    StripeSecret: props.stripeSecret?.secretArn,
    Console: props.console,
    LogLevel: props.logLevel,
    LogRetentionDays: text(props.logRetention),
    Tracing: props.tracing === undefined ? undefined : props.tracing ? "Active" : "PassThrough",
    AlarmTopicArn: props.alarmTopic?.topicArn,
    KeyArn: props.encryptionKey?.keyArn,
    WorkerConcurrency: text(props.workerConcurrency),
    ConcurrencyAlarm: text(props.concurrencyAlarm),
    WriteCeiling: text(props.writeCeiling),
    MonthlyBudget: text(props.budget?.monthly),
    BudgetEmail: props.budget?.email,
    ReportDays: whole("reportRetention", props.reportRetention?.toDays(), 1),
    SecretsGeneration: props.secretsGeneration,
  };
}

/** The conditions of the template, and whether the props fulfil them: a value that is known only later cannot decide one. */
function conditions(props: FleetChargingProps): Record<string, boolean> {
  return {
    HasDomain: props.domain !== undefined,
    DefaultEndpointDisabled: !props.domain?.defaultEndpoint,
    HasKey: props.encryptionKey !== undefined,
    HasAlarmTopic: props.alarmTopic !== undefined,
    HasCanary: props.canary !== undefined && props.canary !== "AllAtOnce",
    TableUnprotected: props.deletionProtection !== true,
    HasWriteCeiling: props.writeCeiling !== undefined && props.writeCeiling !== 0,
    HasBudget: props.budget !== undefined,
    ConsoleAllowed: props.console !== undefined,
    ConsoleHosted: props.console === "cloudfront",
  };
}

/** The nested stacks by their logical names, and their templates. */
function nestedStacks(): Record<string, { templateFile: string }> {
  const files = fs.readdirSync(path.join(TEMPLATES, "stacks")).sort();
  const entries = files.map((file) => {
    const name = path.basename(file, ".yaml");
    const id = `${name.charAt(0).toUpperCase()}${name.slice(1)}Stack`;
    return [id, { templateFile: path.join(TEMPLATES, "stacks", file) }] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * The fleet charging service: the templates of the package with the values of the props. Its resources keep the names they have in
 * the templates, so there is one service per stack.
 */
export class FleetCharging extends Construct {
  readonly api: IHttpApi;
  /** Where clients find the API. */
  readonly apiUrl: string;
  readonly table: ITable;
  /** Files of reports, and under `stations/` those that operators hand in. */
  readonly files: IBucket;
  /** Makes the first account and key. */
  readonly bootstrapFunction: IFunction;
  /** Suspends, closes and reopens accounts. */
  readonly accountStatusFunction: IFunction;
  /** Loads stations. */
  readonly importFunction: IFunction;
  /** Every alarm of the service and of its functions. */
  readonly alarms: readonly IAlarm[];

  private readonly root: CfnInclude;
  private readonly nested: ReadonlyMap<string, CfnInclude>;

  constructor(scope: Construct, id: string, props: FleetChargingProps) {
    super(scope, id);
    const packages = new Map<string, Asset>();
    const packageOf = (executable: string): Asset => {
      const folder = path.join(props.executables, executable);
      if (!fs.existsSync(path.join(folder, "bootstrap"))) {
        throw new Error(`${folder} holds no bootstrap: build it with cargo lambda build --release --bin ${executable}`);
      }
      const known = packages.get(executable) ?? new Asset(this, `Executable-${executable}`, { path: folder });
      packages.set(executable, known);
      return known;
    };
    const templateFile = path.join(TEMPLATES, "template.yaml");
    const loadNestedStacks = nestedStacks();
    this.root = new CfnInclude(this, "Template", { templateFile, parameters: values(templateFile, props), loadNestedStacks });
    for (const [name, holds] of Object.entries(conditions(props))) {
      this.root.getCondition(name).expression = Fn.conditionEquals(String(holds), "true");
    }
    // It says `sam deploy`; here the prop `deletionProtection` protects the table.
    const { node } = this.root.getOutput("ProtectCommand");
    node.scope?.node.tryRemoveChild(node.id);
    const names = Object.keys(loadNestedStacks);
    this.nested = new Map(names.map((name) => [name, this.root.getNestedStack(name).includedTemplate]));
    const acknowledged = {
      W1028: "the props decide the conditions",
      W1030: "an empty topic, key or certificate stands behind a condition",
      W8003: "the props decide the conditions",
      W9053: "the props decide the conditions",
    };
    for (const [rule, reason] of Object.entries(acknowledged)) {
      Validations.of(Stack.of(this)).acknowledge({ id: `CloudFormation-Validate::${rule}`, reason });
    }
    for (const one of this.nested.values()) {
      for (const child of one.node.children) {
        if (!(child instanceof CfnFunction)) continue;
        const { BuildProperties } = child.cfnOptions.metadata as { BuildProperties: { Binary: string } };
        const { bucket, s3ObjectKey: key } = packageOf(BuildProperties.Binary);
        child.codeUri = { bucket: bucket.bucketName, key };
      }
    }
    this.api = HttpApi.fromHttpApiAttributes(this, "Api", { httpApiId: this.resource("Api").ref });
    this.apiUrl = this.root.getOutput("ApiUrl").value as string;
    props.encryptionKey?.addToResourcePolicy(
      new PolicyStatement({
        actions: ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
        principals: [new ServicePrincipal(`logs.${Stack.of(this).region}.amazonaws.com`)],
        resources: ["*"],
      }),
    );
    this.table = Table.fromTableAttributes(this, "Table", {
      tableArn: this.resource("Table").getAtt("Arn").toString(),
      grantIndexPermissions: true,
      ...(props.encryptionKey && { encryptionKey: props.encryptionKey }),
    });
    this.files = Bucket.fromBucketAttributes(this, "Files", {
      bucketName: this.resource("Files").ref,
      ...(props.encryptionKey && { encryptionKey: props.encryptionKey }),
    });
    this.bootstrapFunction = this.function("bootstrap-account");
    this.accountStatusFunction = this.function("set-account-status");
    this.importFunction = this.function("import-stations");
    this.alarms = this.allAlarms();
  }

  /** A resource of the root stack by its name in `template.yaml`. */
  resource(name: string): CfnResource {
    return this.root.getResource(name);
  }

  /** A resource of a nested stack: `nestedResource("FleetsStack", "CreateFleetRole")`. */
  nestedResource(stack: string, name: string): CfnResource {
    const nested = this.nested.get(stack);
    if (!nested) throw new Error(`${stack} is none of ${[...this.nested.keys()].join(", ")}`);
    return nested.getResource(name);
  }

  /** The alias `live` of a function by its handler, such as `create-fleet`. Grants to invoke it are policies of the grantee. */
  function(handler: string): IFunction {
    const stack = Stack.of(this);
    const functionArn = stack.formatArn({
      service: "lambda",
      resource: "function",
      resourceName: `${stack.stackName}-${handler}:live`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    return LambdaFunction.fromFunctionAttributes(this, `function-${handler}`, { functionArn, sameEnvironment: false });
  }

  /** Lets an operator make accounts and their first keys. */
  grantBootstrap(operator: IGrantable): Grant {
    return this.bootstrapFunction.grantInvoke(operator);
  }

  /** Lets an operator suspend, close and reopen accounts. */
  grantSetAccountStatus(operator: IGrantable): Grant {
    return this.accountStatusFunction.grantInvoke(operator);
  }

  /** Lets an operator export accounts, and read the exports. */
  grantExportAccounts(operator: IGrantable): Grant {
    this.files.grantRead(operator, "acct_*/exports/*");
    return this.function("export-account").grantInvoke(operator);
  }

  /** Lets an operator erase closed accounts for good. */
  grantEraseAccounts(operator: IGrantable): Grant {
    return this.function("erase-account").grantInvoke(operator);
  }

  /** Lets an operator encrypt secrets in rows with the first encryption key. */
  grantReencryptSecrets(operator: IGrantable): Grant {
    return this.function("reencrypt-secrets").grantInvoke(operator);
  }

  /** Lets an operator hand in files of stations and load them. */
  grantImportStations(operator: IGrantable): Grant {
    this.files.grantPut(operator, "stations/*");
    return this.importFunction.grantInvoke(operator);
  }

  private allAlarms(): readonly IAlarm[] {
    const templates = [["Root", this.root] as const, ...this.nested];
    return templates.flatMap(([name, template]) =>
      template.node.children
        .filter((child): child is CfnAlarm | CfnCompositeAlarm =>
          ["AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"].includes((child as CfnResource).cfnResourceType),
        )
        .map((alarm) => Alarm.fromAlarmArn(this, `${name}${alarm.node.id}`, alarm.attrArn)),
    );
  }
}

/** The value of every parameter: that of the props, or the default of the template. */
function values(templateFile: string, props: FleetChargingProps): Record<string, string> {
  const template = new CfnInclude(new Stack(undefined, "Defaults"), "Template", { templateFile });
  const entries = Object.entries(parameters(props)).map(([name, value]) => {
    const standard = template.getParameter(name).default as string | number;
    return [name, value ?? String(standard)] as const;
  });
  return Object.fromEntries(entries);
}
