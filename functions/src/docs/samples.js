// Adds samples to the operations of the OpenAPI document, made from its examples: for curl, TypeScript, Python and the command line.
// The reference shows them, and .ci/cli runs them.

function withSamples(document) {
  const followed = (value) =>
    value?.$ref ? followed(value.$ref.slice(2).split("/").reduce((at, name) => at[name], document)) : value;
  const example = (holder) => {
    const content = followed(holder)?.content?.["application/json"];
    return content?.example ?? followed(Object.values(content?.examples ?? {})[0])?.value;
  };
  const shown = (path, method = "get") => example(document.paths[path]?.[method]?.responses["200"]);
  const firstId = (list) => shown(list)?.data?.[0]?.id;
  const idOf = (path) => {
    const object = path.slice(0, path.indexOf("{id}") + 4);
    return shown(object)?.id ?? firstId(object.replace("/{id}", "")) ?? "ID";
  };
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const id = path.includes("{id}") ? idOf(path) : undefined;
      const needed = (operation.parameters ?? []).map(followed).filter((one) => one.in === "query" && one.required);
      const query = Object.fromEntries(needed.map(({ name }) => [name, firstId(`/v1/${name}s`) ?? "AB12"]));
      const url = document.servers[0].url + (id ? path.replace("{id}", id) : path);
      const call = { method: method.toUpperCase(), url, id, operation, query, body: example(operation.requestBody) };
      operation["x-codeSamples"] = [
        { lang: "Shell", label: "curl", source: curl(call) },
        { lang: "TypeScript", label: "TypeScript", source: typescript(call) },
        { lang: "Python", label: "Python", source: python(call) },
        { lang: "Shell", label: "Command line", source: commandLine(call) },
      ];
    }
  }
  return document;
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function curl({ method, url, query, body }) {
  const search = new URLSearchParams(query).toString();
  const parts = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(search ? `${url}?${search}` : url)}`, '-H "Authorization: Bearer $FLEET_API_KEY"'];
  if (body) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}

function camel(name) {
  return name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
}

function typescript({ id, operation, query, body }) {
  const args = id ? [JSON.stringify(id)] : [];
  const params = body ?? query;
  if (Object.keys(params).length) args.push(JSON.stringify(params, null, 2).replace(/"([a-z_]\w*)":/gi, "$1:"));
  const name = `${camel(operation.tags[0])}.${camel(operation["x-method"])}`;
  return `import { FleetClient } from "fleet-charging";\n\nconst client = new FleetClient();\nconst result = await client.${name}(${args.join(", ")});`;
}

/** A value as a literal of Python. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`).join(", ")}}`;
}

function python({ id, operation, query, body }) {
  const params = Object.entries(body ?? query);
  // Words of the language have an underscore after them.
  const args = params.map(([name, value]) => `    ${name === "from" ? "from_" : name}=${literal(value)},\n`);
  const first = id ? `${JSON.stringify(id)}` : "";
  const all = args.length ? `\n${first && `    ${first},\n`}${args.join("")}` : first;
  return `from fleet_charging import FleetClient\n\nclient = FleetClient()\nresult = client.${operation.tags[0]}.${operation["x-method"]}(${all})`;
}

function flags(path, value) {
  const flag = `--${path.replaceAll("_", "-")}`;
  if (path === "metadata") return Object.entries(value).map(([key, text]) => `${flag} ${quoted(`${key}=${text}`)}`);
  if (Array.isArray(value)) {
    const texts = value.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one)));
    return texts.map((text) => `${flag} ${quoted(text)}`);
  }
  // Flags lead two levels deep.
  if (value !== null && typeof value === "object" && !path.includes(".")) {
    return Object.entries(value).flatMap(([name, member]) => flags(path ? `${path}.${name}` : name, member));
  }
  return [`${flag} ${quoted(typeof value === "object" ? JSON.stringify(value) : String(value))}`];
}

function commandLine({ id, operation, query, body }) {
  const words = ["fleet", operation.tags[0], operation["x-method"]].map((word) => word.replaceAll("_", "-"));
  return [...words, ...(id ? [id] : []), ...flags("", body ?? query)].join(" ");
}
