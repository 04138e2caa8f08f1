// Prints Stryker's mutants of one file as JSON: `node stryker.mjs FILE`, where @stryker-mutator/instrumenter is
// installed.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.cwd()}/`);
const from = pathToFileURL(require.resolve('@stryker-mutator/instrumenter'));
const { createInstrumenter } = await import(from);
const { createInjector } = await import(pathToFileURL(createRequire(from).resolve('typed-inject')));
const quiet = new Proxy({}, { get: (_, name) => (name.startsWith?.('is') ? () => false : () => {}) });
const instrumenter = createInjector()
  .provideValue('logger', quiet)
  .provideValue('getLogger', () => quiet)
  .injectFunction(createInstrumenter);
const [name] = process.argv.slice(2);
const files = [{ name, content: readFileSync(name, 'utf8'), mutate: true }];
const options = { ignorers: [], excludedMutations: [], plugins: null };
const { mutants } = await instrumenter.instrument(files, options);
const shown = mutants.filter((mutant) => mutant.status === undefined);
const fields = ({ mutatorName, replacement, location }) => ({ mutatorName, replacement, location });

// The beginnings and ends of functions, from the same parser.
const { parse } = createRequire(from)('@babel/core');
const functions = [];
const walk = (node) => {
  if (!node || typeof node !== 'object') return;
  if (Array.isArray(node)) return node.forEach(walk);
  if (/Function|Method$/.test(node.type ?? '') && node.loc) functions.push([node.loc.start.line, node.loc.end.line]);
  for (const [key, value] of Object.entries(node)) if (!/^(loc|tokens|errors|extra|.*Comments)$/.test(key)) walk(value);
};
walk(parse(files[0].content, { configFile: false, babelrc: false, sourceType: 'unambiguous' }).program);
console.log(JSON.stringify({ mutants: shown.map(fields), functions }));
