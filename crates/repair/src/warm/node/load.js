// Loads CommonJS modules from texts, each with a `require` that knows the others. They are in no file and not in
// Node's module cache, where the project under test could replace them.
'use strict';

const { compileFunction } = require('node:vm');

/// Returns a `require` for modules given as texts by name; names that do not begin with `./` go to Node's `require`.
function load(texts, requireReal) {
  const loaded = new Map();
  return function requireShipped(name) {
    if (!name.startsWith('./')) return requireReal(name);
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const file = name.slice(2);
    if (typeof texts[file] !== 'string') throw new Error(`there is no ${file} in greenlight`);
    const module = { exports: {} };
    loaded.set(name, module);
    const run = compileFunction(texts[file], ['exports', 'require', 'module'], { filename: `greenlight-${file}` });
    run(module.exports, requireShipped, module);
    return module.exports;
  };
}

module.exports = load;
