// Builds the script of the HTML report: one file without imports, which the report holds inline.
import { defineConfig } from "vite";

// Reports are passed on without the package, so the script itself says what it holds.
const HOLDS = "/*! Apache ECharts (Apache-2.0), zrender (BSD-3-Clause), tslib (0BSD) */";

export default defineConfig({
  // A library build leaves this to whoever bundles it; nobody does.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: {
    target: "es2022",
    outDir: process.env["ASCEND_SN_WEB_OUT"] ?? "../src/ascend_sn/_web",
    emptyOutDir: true,
    copyPublicDir: false,
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { postBanner: HOLDS } },
    lib: { entry: "src/report/main.ts", formats: ["iife"], name: "AscendSnReport", fileName: () => "report.js" },
  },
});
