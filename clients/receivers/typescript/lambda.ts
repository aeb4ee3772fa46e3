/** Receives webhooks with AWS Lambda, behind an HTTP API or a function URL. WEBHOOK_SECRET is the secret of the endpoint, `whsec_…`. */
import type { APIGatewayProxyHandlerV2 } from "aws-lambda";
import { SignatureVerificationError, webhooks } from "fleet-charging";
import { handle } from "./events.ts";

export const handler: APIGatewayProxyHandlerV2 = async (request) => {
  const secret = process.env["WEBHOOK_SECRET"];
  if (!secret) throw new Error("WEBHOOK_SECRET is needed.");
  const body = Buffer.from(request.body ?? "", request.isBase64Encoded ? "base64" : "utf8");
  try {
    // Lambda stops a function that has responded, so the work is done before. Send what takes longer than a few seconds to a queue.
    await handle(await webhooks.verify(body, request.headers, secret));
  } catch (error) {
    if (!(error instanceof SignatureVerificationError)) throw error;
    return { statusCode: 400, body: error.message };
  }
  return { statusCode: 204 };
};
