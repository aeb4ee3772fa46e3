import * as fs from "node:fs";
import * as path from "node:path";

import { type CfnParameter, type CfnResource, Stack, Validations } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { CfnFunction } from "aws-cdk-lib/aws-sam";
import { Construct } from "constructs";

/** The template that `sam` deploys: the one place that says what the service consists of. */
export const TEMPLATE = path.join(__dirname, "..", "..", "template.yaml");

/** The parameters of the template, under their names there. What is left out keeps its default. */
export interface Parameters {
  readonly Stage?: string;
  readonly Architecture?: "arm64" | "x86_64";
  readonly DeletionProtection?: "true" | "false";
  readonly DomainName?: string;
  readonly CertificateArn?: string;
  readonly ApiRate?: number;
  readonly ApiBurst?: number;
  readonly RateTest?: number;
  readonly RateLive?: number;
  readonly ReservationFee?: number;
  readonly StripeSecret?: string;
  readonly LogLevel?: "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR";
  readonly LogRetentionDays?: number;
  readonly Tracing?: "Active" | "PassThrough";
  readonly AlarmTopicArn?: string;
  readonly KeyArn?: string;
  readonly WorkerConcurrency?: number;
  readonly ReportDays?: number;
  readonly PageTokenGeneration?: string;
}

export interface FleetChargingProps {
  /** The folder that holds the executable under the name `bootstrap`: what `cargo lambda build` leaves. */
  readonly executable: string;
  readonly parameters?: Parameters;
}

/**
 * The fleet charging service. Its resources keep the names they have in the template, so there is one per stack, and
 * `resource` hands out any of them to be changed or referred to.
 */
export class FleetCharging extends Construct {
  /** Where clients find the API. */
  readonly apiUrl: string;
  readonly tableName: string;
  readonly filesBucketName: string;
  /** The function that makes the first account and key. */
  readonly bootstrapFunctionName: string;
  /** The function that suspends, closes and reopens accounts. */
  readonly accountStatusFunctionName: string;
  /** The function that loads stations. */
  readonly importFunctionName: string;

  private readonly template: CfnInclude;

  constructor(scope: Construct, id: string, props: FleetChargingProps) {
    super(scope, id);
    if (!fs.existsSync(path.join(props.executable, "bootstrap"))) {
      throw new Error(`${props.executable} holds no bootstrap: build it with cargo lambda build --release --bin functions`);
    }
    const { bucket, s3ObjectKey: key } = new Asset(this, "Executable", { path: props.executable });
    this.template = new CfnInclude(this, "Template", {
      templateFile: TEMPLATE,
      // It refers to the API's stage, which only the SAM transformation makes.
      dehydratedResources: ["DomainMapping"],
    });
    const reason = "an empty topic, key or certificate stands behind a condition";
    Validations.of(Stack.of(this)).acknowledge({ id: "CloudFormation-Validate::W1030", reason });
    const mapping = this.resource("DomainMapping");
    mapping.overrideLogicalId("DomainMapping");
    Validations.of(mapping).acknowledge({
      id: "CloudFormation-Validate::F1020",
      reason: "the SAM transformation makes the stage",
    });
    mapping.cfnOptions.condition = this.template.getCondition("OwnDomain");
    for (const child of this.template.node.children) {
      if (child instanceof CfnFunction) {
        child.codeUri = { bucket: bucket.bucketName, key };
      }
    }
    for (const [name, value] of Object.entries(props.parameters ?? {})) {
      const parameter: CfnParameter = this.template.getParameter(name);
      parameter.default = value;
    }
    const output = (name: string): string => this.template.getOutput(name).value;
    this.apiUrl = output("ApiUrl");
    this.tableName = output("TableName");
    this.filesBucketName = output("FilesBucket");
    this.bootstrapFunctionName = output("BootstrapFunction");
    this.accountStatusFunctionName = output("SetAccountStatusFunction");
    this.importFunctionName = output("ImportFunction");
  }

  /** A resource by its name in the template. */
  resource(name: string): CfnResource {
    return this.template.getResource(name);
  }
}
