// Rules for the TypeScript of device/ and browser/; prettier sets the style.
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import { configs } from "typescript-eslint";

export default defineConfig(
  globalIgnores(["**/node_modules", "**/out", "**/dist", "src", "**/.venv*"]),
  {
    files: ["**/*.ts"],
    extends: [js.configs.recommended, configs.recommendedTypeChecked, configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "max-len": ["error", { code: 120, ignoreUrls: true }],
      // noUncheckedIndexedAccess makes every index of an array possibly undefined.
      "@typescript-eslint/no-non-null-assertion": "off",
      // Interfaces ask for promises, and what implements them may have nothing to wait for.
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/no-empty-function": ["error", { allow: ["arrowFunctions", "methods"] }],
      "@typescript-eslint/consistent-indexed-object-style": ["error", "index-signature"],
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test"] }] },
      ],
    },
  },
  {
    // The fields of a layer are JSON of many kinds, which `verify` has checked.
    files: ["device/src/layers/*.ts"],
    rules: { "@typescript-eslint/no-explicit-any": "off", "@typescript-eslint/no-unsafe-argument": "off" },
  },
  {
    // Built-in methods are captured as functions, and no iterator is used: a page can replace both later.
    files: ["browser/src/extension/policy.ts", "browser/src/extension/shim/*.ts"],
    rules: {
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/prefer-for-of": "off",
      "@typescript-eslint/no-explicit-any": "off",
    },
  },
  {
    // Messages of the DevTools protocol are JSON of many kinds.
    files: ["browser/test/*.ts", "browser/proof/*.ts"],
    rules: {
      "@typescript-eslint/no-explicit-any": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
);
