// Writes src/generated from the OpenAPI document: openapi.ts, which openapi-typescript makes, and models.ts and resources.ts, which refer
// to it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTs, { astToString } from "openapi-typescript";
import ts from "typescript";

const root = new URL("../", import.meta.url);
const document = JSON.parse(readFileSync(new URL("../../api/openapi.json", root), "utf8"));
const schemas = document.components.schemas;
const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

const HEADER = "// Written by `npm run generate` from the OpenAPI document. Do not edit.\n\n";
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel(`_${name}`);
/** The class of a resource. A model with the same name has the name first. */
const resourceClass = (name) => (pascal(name) in schemas ? `${pascal(name)}Resource` : pascal(name));
const target = (schema) => schema?.$ref?.split("/").at(-1);
const comment = (text, indent = "") =>
  `${indent}/** ${text.replaceAll("*/", "*\\/").split("\n").join(`\n${indent} * `)} */\n`;

const isHidden = (name) => /^(Error(Type)?|ParameterError)$/.test(name) || name.startsWith("Expandable") || /(Page|^EmptyBody)$/.test(name);

/** The members of a schema that hold ids, as paths, each with the schema of the object. */
function expandable(name) {
  const schema = schemas[name].oneOf ? schemas[target(schemas[name].oneOf[0])] : schemas[name];
  const paths = new Map();
  for (const [member, value] of Object.entries(schema.properties ?? {})) {
    const names = [value, value.items, ...(value.oneOf ?? [])].map(target).filter(Boolean);
    for (const inner of names) {
      if (inner.startsWith("Expandable")) paths.set(member, inner.replace("Expandable", ""));
      else if (!schemas[inner].properties?.object && schemas[inner].properties) {
        for (const [path, of] of expandable(inner)) paths.set(`${member}.${path}`, of);
      }
    }
  }
  return paths;
}

/** Adds to the object of each event the members that a delivery with the payload `thin` has. */
function describeThinPayloads() {
  for (const { properties } of Object.values(schemas)) {
    const subject = properties?.data?.properties?.object;
    if (subject && properties.object?.const === "event") {
      subject.description += " For an endpoint with the `payload` `thin`, it has `id` and `object` alone.";
    }
  }
}

describeThinPayloads();

/** How many members a path of `expand` may have, as the description of the query parameter says. */
const MAX_LEVELS = 4;

/** The paths that the service expands in an object: up to four members, and each kind of object at most once. */
function expandPaths(name, passed = [], prefix = "") {
  return [...expandable(name)].flatMap(([member, of]) => {
    const path = prefix + member;
    if (of === name || passed.includes(of) || path.split(".").length > MAX_LEVELS) return [];
    return [path, ...expandPaths(of, [...passed, name], `${path}.`)];
  });
}

// The types.

/** The schemas that these refer to, and those. */
function reachable(names) {
  const found = new Set();
  for (const open = [...names]; open.length > 0; ) {
    const name = open.pop();
    if (found.has(name)) continue;
    found.add(name);
    open.push(...[...JSON.stringify(schemas[name]).matchAll(/#\/components\/schemas\/(\w+)"/g)].map(([, inner]) => inner));
  }
  return found;
}

const bodies = Object.values(document.paths)
  .flatMap(Object.values)
  .map((operation) => target(operation.requestBody?.content["application/json"]?.schema));
const inRequests = reachable(bodies.filter(Boolean));

/**
 * The type of an enumeration that only responses have: a newer service may show a value that is not known here. `ApiError.is` takes the codes
 * that are known.
 */
function openEnumeration(schema, { path }) {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(path ?? "")?.[1];
  if (!schemas[name]?.enum || !schema.enum || name === "ErrorCode" || inRequests.has(name)) return undefined;
  const known = schema.enum.map((word) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(word)));
  const string = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
  // Unlike `string`, the intersection leaves the values to editors to propose.
  const other = ts.factory.createIntersectionTypeNode([string, ts.factory.createTypeLiteralNode([])]);
  return ts.factory.createUnionTypeNode([...known, ts.factory.createParenthesizedType(other)]);
}

mkdirSync(new URL("src/generated", root), { recursive: true });
const types = await openapiTs(document, { transform: openEnumeration });
writeFileSync(new URL("src/generated/openapi.ts", root), HEADER + astToString(types));

// The models.

let models = `${HEADER}import type { Expanded } from "../expand.ts";\nimport type { components } from "./openapi.ts";\n\n`;
models += 'type Schemas = components["schemas"];\n\n';
models += `${comment("The version of the interface that this client speaks.")}export const API_VERSION = ${JSON.stringify(document.info.version)};\n\n`;
models += `${comment("The version of this client.")}export const CLIENT_VERSION = ${JSON.stringify(version)};\n\n`;
for (const [name, schema] of Object.entries(schemas)) {
  if (isHidden(name)) continue;
  if (schema.description) models += comment(schema.description);
  // What responses show: an object that may hold expanded objects.
  const isExpandable = (schema.properties?.object || schema.oneOf) && expandable(name).size > 0;
  models += isExpandable
    ? `export type ${name}<Expand extends string = never> = Expanded<Schemas["${name}"], Expand>;\n\n`
    : `export type ${name} = Schemas["${name}"];\n\n`;
}
writeFileSync(new URL("src/generated/models.ts", root), models);

// The resources.

const operations = Object.values(document.paths).flatMap(Object.values);
const resources = document.tags.filter((tag) => operations.some((operation) => operation.tags.includes(tag.name)));
const tags = new Map(resources.map((tag) => [tag.name, { description: tag.description, methods: [], params: [] }]));
const used = new Set();
/** The types of all options `expand`: their names, with the paths that they have. */
const expandTypes = new Map();
const use = (name) => {
  used.add(name);
  return name;
};

/** The type of a query parameter. */
function queryType(schema) {
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  if (schema.type === "array") return `(${queryType(schema.items)})[]`;
  return { integer: "number", number: "number", boolean: "boolean" }[schema.type] ?? "string";
}

/** The interface of an operation's query parameters, or nothing. */
function queryInterface(name, operation) {
  const query = operation.parameters.filter((one) => one.in === "query" && one.name !== "expand[]");
  if (query.length === 0) return undefined;
  const members = new Map();
  for (const one of query) {
    const range = /^(\w+)\[(\w+)\]$/.exec(one.name);
    if (range) {
      const bounds = members.get(range[1]) ?? { bounds: "", description: "A range of times, as RFC 3339." };
      bounds.bounds += `${comment(one.description, "    ")}    ${range[2]}?: ${queryType(one.schema)};\n`;
      members.set(range[1], bounds);
    } else {
      members.set(one.name.replace("[]", ""), { type: queryType(one.schema), description: one.description });
    }
  }
  const lines = [...members].map(
    ([member, { type, bounds, description }]) =>
      `${comment(description, "  ")}  ${member}?: ${bounds ? `{\n${bounds}  }` : type};\n`,
  );
  return `export interface ${name} {\n${lines.join("")}}\n\n`;
}

for (const [path, item] of Object.entries(document.paths)) {
  for (const [verb, operation] of Object.entries(item)) {
    const tag = tags.get(operation.tags[0]);
    const name = camel(operation["x-method"]);
    const args = [];
    const parts = [];
    if (path.includes("{id}")) args.push("id: string");
    const body = operation.requestBody?.content["application/json"].schema;
    const params = target(body);
    if (params && params !== "EmptyBody") {
      args.push(`params: ${use(params)}${operation.requestBody.required ? "" : " = {}"}`);
      parts.push("body: params");
    } else if (body) {
      parts.push("body: {}");
    }
    const query = queryInterface(`${pascal(operation.tags[0])}${pascal(operation["x-method"])}Query`, operation);
    if (query) {
      tag.params.push(query);
      args.push(`params: ${pascal(operation.tags[0])}${pascal(operation["x-method"])}Query = {}`);
      parts.push("query: params");
    }
    const url = `\`${path.replace("{id}", "${encodeURIComponent(id)}")}\``.replace(/^`([^$]*)`$/, '"$1"');
    if (!operation.responses["200"]) {
      const text = comment(`${operation.description} Returns the URL of the file.`, "  ");
      const call = `return this.http.link(${url}, { ${parts.join(", ")} }, options);`.replace("{  }", "{}");
      tag.methods.push(`${text}  ${name}(${[...args, "options?: RequestOptions"].join(", ")}): Promise<string> {\n    ${call}\n  }\n`);
      continue;
    }
    const response = target(operation.responses["200"].content["application/json"].schema);
    const isPage = response.endsWith("Page");
    const shown = isPage ? target(schemas[response].properties.data.items) : response;
    const hasExpand = operation.parameters.some((one) => one.name === "expand[]");
    const object = shown.replace("WithWarnings", "");
    if (hasExpand) expandTypes.set(`${object}Expand`, expandPaths(object));
    const expand = hasExpand ? `<const Path extends ${object}Expand = never>` : "";
    const type = hasExpand ? `${use(shown)}<Path>` : use(shown);
    args.push(`options?: RequestOptions${hasExpand ? "<Path>" : ""}`);
    const call = isPage
      ? `return this.http.list(${url}, ${query ? "params" : "undefined"}, options);`
      : `return this.http.request("${verb.toUpperCase()}", ${url}, { ${parts.join(", ")} }, options);`;
    const result = isPage ? `PagePromise<${type}>` : `Promise<${type}>`;
    const text = comment(operation.description, "  ");
    tag.methods.push(`${text}  ${name}${expand}(${args.join(", ")}): ${result} {\n    ${call}\n  }\n`.replace("{  }", "{}"));
  }
}

let classes = "";
let members = "";
let inits = "";
for (const [name, tag] of tags) {
  classes += tag.params.join("");
  classes += `${comment(tag.description)}export class ${resourceClass(name)} extends Resource {\n${tag.methods.join("\n")}}\n\n`;
  members += `  readonly ${camel(name)}: ${resourceClass(name)};\n`;
  inits += `    this.${camel(name)} = new ${resourceClass(name)}(http);\n`;
}
const imports = [...used].sort().map((name) => `  ${name},\n`).join("");
for (const [name, paths] of expandTypes) {
  const options = paths.map((path) => `\n  | "${path}"`).join("");
  classes = `${comment("A path that `expand` accepts.")}export type ${name} =${options};\n\n${classes}`;
}
const text = `${HEADER}import type { Http, RequestOptions } from "../http.ts";
import type { PagePromise } from "../pages.ts";
import type {
${imports}} from "./models.ts";

class Resource {
  protected readonly http: Http;

  constructor(http: Http) {
    this.http = http;
  }
}

${classes}/** All resources of the service. */
export class Resources {
${members}
  constructor(http: Http) {
${inits}  }
}
`;
writeFileSync(new URL("src/generated/resources.ts", root), text);
