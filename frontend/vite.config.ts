// Builds the script of the HTML report, one file without imports which the report holds inline, and, as mode `insight`,
// the web page: index.html with hashed assets, all addresses relative, no script or style inline.
import { defineConfig, type UserConfig } from "vite";

// Reports are passed on without the package, so the script itself says what it holds.
const HOLDS = "/*! Apache ECharts (Apache-2.0), zrender (BSD-3-Clause), tslib (0BSD) */";
const OUT = process.env["ASCEND_SN_WEB_OUT"] ?? `${import.meta.dirname}/../src/ascend_sn/_web`;

const REPORT: UserConfig = {
  // A library build leaves this to whoever bundles it; nobody does.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: {
    target: "es2022",
    outDir: OUT,
    emptyOutDir: true,
    copyPublicDir: false,
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { postBanner: HOLDS } },
    lib: { entry: "src/report/main.ts", formats: ["iife"], name: "AscendSnReport", fileName: () => "report.js" },
  },
};

const INSIGHT: UserConfig = {
  root: `${import.meta.dirname}/src/insight`,
  base: "./",
  build: {
    target: "es2022",
    outDir: `${OUT}/insight`,
    emptyOutDir: true,
    copyPublicDir: false,
    license: { fileName: "licenses.md" },
    assetsInlineLimit: 0, // the page's policy allows no data: addresses
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
  },
};

export default defineConfig(({ mode }) => (mode === "insight" ? INSIGHT : REPORT));
