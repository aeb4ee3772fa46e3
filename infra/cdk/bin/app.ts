import * as path from "node:path";

import { App, CfnOutput, Stack } from "aws-cdk-lib";

import { FleetCharging, type FleetChargingProps } from "../lib/fleet-charging";

const app = new App();
const stack = new Stack(app, app.node.tryGetContext("stack") ?? "FleetCharging", { description: "Fleet Charging Service" });
const service = new FleetCharging(stack, "Service", {
  executables: app.node.tryGetContext("executables") ?? path.join(__dirname, "../../../target/lambda"),
  ...(app.node.tryGetContext("props") as Partial<FleetChargingProps> | undefined),
});
new CfnOutput(stack, "Url", { value: service.apiUrl });
