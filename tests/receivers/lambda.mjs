// Invokes the handler of lambda.js with the events that an HTTP API would send, one for each request.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const { handler } = await import(pathToFileURL(process.argv[2]));
createServer(async (request, response) => {
  const chunks = await Array.fromAsync(request);
  const body = Buffer.concat(chunks).toString("base64");
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const result = await handler({ version: "2.0", rawPath: request.url, headers, body, isBase64Encoded: true });
  response.writeHead(result.statusCode).end(result.body);
}).listen(Number(process.env.PORT), "127.0.0.1");
