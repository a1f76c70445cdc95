// A script in QuickJS, as the WebAssembly that npm has of it: node quickjs.mjs SCRIPT…
import variant from "@jitl/quickjs-wasmfile-release-sync";
import { newQuickJSWASMModuleFromVariant } from "quickjs-emscripten-core";
import { readFileSync } from "node:fs";

const module = await newQuickJSWASMModuleFromVariant(variant);
const runtime = module.newRuntime();
runtime.setMaxStackSize(1 << 20);
const context = runtime.newContext();
function give(name, act) {
  context.newFunction(name, act).consume((made) => context.setProp(context.global, name, made));
}
give("print", (text) => console.log(context.getString(text)));
give("milliseconds", () => context.newNumber(performance.now()));
give("heapBytes", () =>
  context.newNumber(
    JSON.parse(runtime.computeMemoryUsage().consume((usage) => JSON.stringify(context.dump(usage)))).memory_used_size,
  ),
);
for (const path of process.argv.slice(2)) {
  context.unwrapResult(context.evalCode(readFileSync(path, "utf8"), path)).dispose();
  context.unwrapResult(runtime.executePendingJobs());
}
