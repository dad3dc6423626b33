// Writes src/protocol.ts from the published schema: one type per definition, and who asks what.
// `node scripts/generate.mjs --check` compares instead, and fails if they differ.
import { readFileSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
const published = (name) => JSON.parse(readFileSync(here(`../../../schema/${name}`), "utf8"));

/** Envelopes with id and method; the tables below say the same with types. */
const ENVELOPES = /^(Client|Server)(Request|Notification)$/;

export function generate(schema = published("promptkit.schema.json"), index = published("methods.json")) {
  const parts = [
    "// Generated from schema/ by scripts/generate.mjs. Do not edit.\n",
    "/** A JSON object of yours: nothing inside is read or renamed. */\nexport type JsonObject = { [key: string]: unknown };\n",
    `/** Versions of the protocol that these types describe. */\nexport const PROTOCOL_VERSIONS: readonly number[] = ${JSON.stringify(index.protocolVersions)};\n`,
  ];
  for (const [name, definition] of Object.entries(schema.$defs))
    if (!ENVELOPES.test(name)) parts.push(declaration(name, definition));
  for (const direction of ["clientToServer", "serverToClient"])
    for (const kind of ["request", "notification"]) parts.push(table(index.methods, direction, kind));
  return parts.join("\n");
}

function declaration(name, definition) {
  if (definition.properties === undefined)
    return `${comment(definition)}export type ${name} = ${type(definition)};\n`;
  const required = new Set(definition.required);
  const fields = Object.entries(definition.properties).map(
    ([field, inner]) =>
      `${comment(inner, "  ")}  ${field}${required.has(field) ? "" : "?"}: ${type(inner)};\n`,
  );
  return `${comment(definition)}export interface ${name} {\n${fields.join("")}}\n`;
}

function type(schema) {
  if (schema.$ref) return schema.$ref.replace("#/$defs/", "");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(type).join(" | ");
  if (schema.type === undefined) return "unknown";
  return [schema.type]
    .flat()
    .map((one) => plain(one, schema))
    .join(" | ");
}

function plain(name, schema) {
  switch (name) {
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly ${items(schema.items)}[]`;
    case "object":
      return "JsonObject";
    default:
      return name;
  }
}

function items(schema) {
  const inner = type(schema);
  return inner.includes(" ") ? `(${inner})` : inner;
}

function table(methods, direction, kind) {
  const sender = direction === "clientToServer" ? "Client" : "Server";
  const lines = methods
    .filter((method) => method.direction === direction && method.kind === kind)
    .map(({ method, params, result, doc }) => {
      const shape = kind === "request" ? `{ params: ${params}; result: ${result} }` : params;
      return `${comment({ description: doc }, "  ")}  "${method}": ${shape};\n`;
    });
  const what = `What the ${sender.toLowerCase()} ${kind === "request" ? "asks" : "tells"}, by method.`;
  const name = `${sender}${kind === "request" ? "Requests" : "Notifications"}`;
  return `${comment({ description: what })}export interface ${name} {\n${lines.join("")}}\n`;
}

function comment({ description }, indent = "") {
  return description ? `${indent}/** ${description.replaceAll("*/", "*\\/")} */\n` : "";
}

if (process.argv[1] === here("").pathname) {
  const target = here("../src/protocol.ts");
  const text = generate();
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text) {
    console.error("src/protocol.ts is not what schema/ says; run: npm run generate");
    process.exit(1);
  }
}
