// Finds the arguments of the runner in a test command, in a shell line or a script, and the files that it would run.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

/// Maximum number of files that are searched for tests, and their maximum depth.
const MOST = 50_000;
const DEEPEST = 32;
const PROGRAMS = { node: ['node'], mocha: ['mocha', '_mocha'], jest: ['jest'], vitest: ['vitest'] };

function base(word) {
  return path.basename(word).replace(/\.(js|mjs|cjs)$/, '');
}

/// Splits a line into words. Null if it uses any shell syntax.
function split(line) {
  if (/[`$|<>;()\\]/.test(line)) return null;
  const words = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
}

/// The arguments of the runner and the variables set before it. Null if the command does anything else.
function find(argv, framework) {
  let words = argv;
  if (argv[0] === 'sh' && argv[1] === '-c') {
    const commands = argv[2].split(' && ').map((part) => part.replaceAll('"$@"', '').trim());
    const runners = commands.map(split).filter((found) => found && at(found, framework) >= 0);
    if (runners.length !== 1) return null;
    words = [...runners[0], ...argv.slice(4)];
  }
  const place = at(words, framework);
  if (place < 0) return null;
  const env = {};
  for (const word of words.slice(0, place)) {
    const set = /^([A-Za-z_]\w*)=(.*)$/.exec(word);
    if (set) env[set[1]] = set[2];
  }
  return { words: words.slice(place + 1), env };
}

function at(words, framework) {
  const programs = PROGRAMS[framework] ?? [];
  return words.findIndex((word) => programs.includes(base(word)));
}

function walk(directory, found, depth = 0) {
  if (depth > DEEPEST) return;
  let entries = [];
  try {
    entries = fs.readdirSync(directory, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (found.length >= MOST) return;
    const file = path.join(directory, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
      walk(file, found, depth + 1);
    if (entry.isFile()) found.push(file);
  }
}

function pattern(glob) {
  const source = glob
    .replace(/[.+^$()|\\]/g, '\\$&')
    .replace(/\{([^{}]*)\}/g, (_, any) => `(?:${any.split(',').join('|')})`)
    .replace(/\*\*\/|\*\*|\*|\?/g, (found) => ({ '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[found]);
  return new RegExp(`^${source}$`);
}

/// The files that `node --test` runs by default.
function isTest(file) {
  const name = path.basename(file);
  if (!/\.[cm]?js$/.test(name)) return false;
  return /(^|\/)test\//.test(file) || /^test\.|^test-|[.\-_]test\.[cm]?js$/.test(name);
}

/// The files of `node --test` with these arguments. Null if an option changes how they are loaded.
function ofNode(words) {
  const given = [];
  const required = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === '-r' || word === '--require') {
      at += 1;
      required.push(words[at]);
    } else if (word.startsWith('--require=')) required.push(word.slice('--require='.length));
    else if (/^--(import|loader|experimental-(loader|strip|transform|test-module))/.test(word)) return null;
    else if (/^--test-(reporter-destination|reporter|name-pattern|concurrency|timeout)$/.test(word)) at += 1;
    else if (!word.startsWith('-')) given.push(word);
  }
  const all = [];
  walk(process.cwd(), all);
  const relative = (file) => path.relative(process.cwd(), file);
  const files =
    given.length === 0
      ? all.filter((file) => isTest(relative(file)))
      : given.flatMap((word) => {
          const name = path.resolve(word);
          const inside = all.filter((file) => file.startsWith(`${name}/`) && /\.[cm]?js$/.test(file));
          if (all.includes(name)) return [name];
          if (inside.length > 0) return inside;
          const fits = pattern(path.normalize(word));
          return all.filter((file) => fits.test(relative(file)));
        });
  return { files: [...new Set(files)], required };
}

/// All files below the directory of the command.
function all() {
  const found = [];
  walk(process.cwd(), found);
  return found;
}

module.exports = { all, find, ofNode };
