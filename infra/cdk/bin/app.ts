import * as path from "node:path";

import { App, Stack } from "aws-cdk-lib";

import { FleetCharging } from "../lib/fleet-charging";

const app = new App();
const stack = new Stack(app, "FleetCharging", { description: "Fleet Charging Service" });
new FleetCharging(stack, "Service", {
  executable: app.node.tryGetContext("executable") ?? path.join(__dirname, "../../../target/lambda/functions"),
  parameters: app.node.tryGetContext("parameters") ?? {},
});
