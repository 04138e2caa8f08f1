// The first code of the thread of the tests: gives each source the others that it names.
'use strict';

const bridge = 'data:text/javascript,export default (name, from) => import.meta.resolve(name, from)';
const { workerData: given } = require('node:worker_threads');
const loaded = new Map();

function named(name) {
  const known = loaded.get(name);
  if (known) return known.exports;
  const source = sources.find(([own]) => own === name);
  if (!source) return require(name);
  const module = { exports: {} };
  loaded.set(name, module);
  new Function('require', 'module', source[1] + `\n//# sourceURL=greenlight-${name}.js`)(named, module);
  return module.exports;
}

import(bridge).then(({ default: resolveReal }) => {
  given.bridges = { importReal: (url) => import(url), resolveReal };
  named('worker');
});
