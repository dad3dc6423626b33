export * from "./client.js";
export * from "./connect.js";
export * from "./errors.js";
export * from "./live.js";
export * from "./protocol.js";
