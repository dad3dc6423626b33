// Bundles the extension with the TypeScript client's sources, and the tests that run inside the editor.
import { build } from "esbuild";

const here = import.meta.dirname;

/**
 * The client's sources get vscode-jsonrpc from here, whether or not they have one of their own:
 * there must be one copy, for errors are told by their class.
 */
const oneCopy = {
  name: "one-copy",
  setup(bundle) {
    bundle.onResolve({ filter: /^vscode-jsonrpc/ }, ({ path, kind, resolveDir }) =>
      resolveDir.startsWith(here) ? undefined : bundle.resolve(path, { kind, resolveDir: here }),
    );
  },
};

const common = {
  absWorkingDir: here,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  minify: process.argv.includes("--minify"),
  plugins: [oneCopy],
  logLevel: "warning",
};

await build({
  ...common,
  entryPoints: { extension: "src/extension.ts" },
  outdir: "dist",
  external: ["vscode"],
});

if (process.argv.includes("--tests"))
  await build({
    ...common,
    entryPoints: { index: "tests/host/index.ts" },
    outdir: "out/host",
    external: ["vscode", "mocha"],
  });
