// Prints the samples of the reference as JSON: [{"id", "method", "samples": {"curl", "TypeScript", "Python", "Command line"}}].
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const context = createContext({ URLSearchParams });
runInContext(read("functions/src/docs/samples.js"), context);
const document = context.withSamples(JSON.parse(read("api/openapi.json")));
const operations = Object.values(document.paths).flatMap((item) => Object.entries(item));
const shown = operations.map(([method, operation]) => {
  const samples = Object.fromEntries(operation["x-codeSamples"].map((one) => [one.label, one.source]));
  return { id: operation.operationId, method, samples };
});
console.log(JSON.stringify(shown));
