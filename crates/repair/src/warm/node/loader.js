// Loads the project's modules afresh for each candidate: CommonJS modules through Node's own loader without its
// cache, ECMAScript modules as graphs of `vm` modules. Packages in node_modules and Node's own modules are loaded
// once and kept.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL, fileURLToPath } = require('node:url');
const vm = require('node:vm');

const CODE = new Set(['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.json']);
const WRAPPER = Module.wrapper[0].length;
/// Maximum number of modules of one kind that are remembered.
const MOST = 20_000;

const state = {
  root: process.cwd(),
  importReal: null,
  resolveReal: null,
  /// The edited file, and its text after the edit.
  edited: null,
  text: null,
  /// Modules that replace Node's or a package's own, by name.
  instead: new Map(),
  graph: new Map(),
  outside: new Map(),
  /// The last compilation of each file, by name: the source, and the resulting script.
  compiled: new Map(),
  /// Whether the edited file does not compile.
  invalid: false,
  syntax: new Map(),
  texts: new Map(),
  /// Converts a source to CommonJS, if the project does that.
  transform: null,
  made: new Map(),
  /// The files that names in the project's modules resolve to.
  found: new Map(),
  /// Hooks that wrap the exports of files, by file, while a request needs them.
  wrap: null,
};

function isOwn(file) {
  return file.startsWith(`${state.root}/`) && !file.includes('/node_modules/');
}

/// The text of a project file, which is read only once: changes that tests make to their own code are ignored.
function read(file) {
  if (file === state.edited) return state.text;
  let text = state.texts.get(file);
  if (text === undefined) {
    text = fs.readFileSync(file, 'utf8');
    if (state.texts.size < MOST) state.texts.set(file, text);
  }
  return text;
}

/// Whether a file is an ECMAScript module, judged by its name or its package.
function isModule(file) {
  if (/\.m[jt]s$/.test(file)) return true;
  if (!/\.(js|jsx|ts|tsx)$/.test(file)) return false;
  const directory = path.dirname(file);
  let known = state.syntax.get(directory);
  if (known === undefined) {
    known = false;
    for (let at = directory; ; at = path.dirname(at)) {
      try {
        known = JSON.parse(fs.readFileSync(path.join(at, 'package.json'), 'utf8')).type === 'module';
        break;
      } catch {
        if (at === path.dirname(at)) break;
      }
    }
    if (state.syntax.size < MOST) state.syntax.set(directory, known);
  }
  return known;
}

/// Records that the edit does not compile, and rethrows the error.
function blame(file, error) {
  if (file === state.edited && error?.name === 'SyntaxError') state.invalid = true;
  throw error;
}

function transformed(file) {
  const text = read(file).replace(/^\uFEFF/, '');
  if (state.transform === null) return text;
  const known = state.made.get(file);
  if (known?.text === text) return known.code;
  try {
    const code = state.transform(text, file);
    if (file !== state.edited && state.made.size < MOST) state.made.set(file, { text, code });
    return code;
  } catch (error) {
    return blame(file, error);
  }
}

function requireOf(module) {
  const load = (name) => module.require(name);
  load.resolve = (name, options) => Module._resolveFilename(name, module, false, options);
  load.resolve.paths = (name) => Module._resolveLookupPaths(name, module);
  load.main = process.mainModule;
  load.cache = Module._cache;
  load.extensions = Module._extensions;
  return load;
}

/// Replaces the parts of Node's loader that all CommonJS modules go through, before anything else hooks into them.
function install() {
  const { _load, _extensions } = Module;
  const { _compile } = Module.prototype;
  const script = _extensions['.js'];
  const json = _extensions['.json'];
  Module._load = function load(name, parent, isMain) {
    return state.instead.has(name) ? state.instead.get(name) : _load.call(this, name, parent, isMain);
  };
  const { _resolveFilename } = Module;
  Module._resolveFilename = function find(name, parent, isMain, options) {
    if (options !== undefined || !parent?.filename || !isOwn(parent.filename)) {
      return _resolveFilename.call(this, name, parent, isMain, options);
    }
    const key = `${path.dirname(parent.filename)}\0${name}`;
    let file = state.found.get(key);
    if (file === undefined) {
      file = _resolveFilename.call(this, name, parent, isMain);
      if (state.found.size < MOST) state.found.set(key, file);
    }
    return file;
  };
  _extensions['.js'] = function load(module, file) {
    if (!isOwn(file) || (isModule(file) && state.transform === null)) return script(module, file);
    return module._compile(transformed(file), file);
  };
  _extensions['.json'] = function load(module, file) {
    if (file !== state.edited) return json(module, file);
    try {
      module.exports = JSON.parse(state.text);
    } catch (error) {
      blame(file, error);
    }
    return undefined;
  };
  Module.prototype._compile = function compile(source, file) {
    if (!isOwn(file)) return _compile.call(this, source, file);
    let made = state.compiled.get(file);
    if (made?.source !== source) {
      try {
        const text = Module.wrap(source.replace(/^#!.*/, ''));
        const options = {
          filename: file,
          importModuleDynamically: (name) => importFrom(name, pathToFileURL(file).href),
        };
        made = { source, script: new vm.Script(text, options), shift: WRAPPER };
      } catch (error) {
        blame(file, error);
      }
      if (file !== state.edited && state.compiled.size < MOST) state.compiled.set(file, made);
    }
    const run = made.script.runInThisContext();
    const result = run.call(this.exports, this.exports, requireOf(this), this, file, path.dirname(file));
    if (state.wrap?.files.has(file)) this.exports = state.wrap.make(file, this.exports);
    return result;
  };
}

/// The URL that an import specifier resolves to, as in Node.
function resolve(name, from) {
  if (state.instead.has(name)) return name;
  if (name.startsWith('node:') || Module.builtinModules.includes(name)) return name;
  if (/^(\.{0,2}\/|file:)/.test(name)) return new URL(name, from).href;
  return state.resolveReal(name, from);
}

function synthetic(values, url) {
  const names = Object.keys(values).filter((name) => name !== 'default' && name !== 'module.exports');
  const module = new vm.SyntheticModule(
    [...names, 'default'],
    () => {
      for (const name of names) module.setExport(name, values[name]);
      module.setExport('default', values.default);
    },
    { identifier: url },
  );
  return module;
}

function ofCommon(values, url) {
  const isObject = (typeof values === 'object' || typeof values === 'function') && values !== null;
  const named = isObject ? Object.fromEntries(Object.keys(values).map((name) => [name, values[name]])) : {};
  return synthetic({ ...named, default: values }, url);
}

async function outside(url) {
  let values = state.outside.get(url);
  if (values === undefined) {
    values = { ...(await state.importReal(url)) };
    if (state.outside.size < MOST) state.outside.set(url, values);
  }
  return synthetic(values, url);
}

/// A module whose exports are made from those of another one.
async function wrapped(module, file, url) {
  await module.link((wanted, by) => get(resolve(wanted, by.identifier)));
  await module.evaluate();
  return synthetic(state.wrap.make(file, { ...module.namespace }), url);
}

/// The module for a URL in the current graph, not yet linked.
async function make(url) {
  if (state.instead.has(url)) return ofCommon(state.instead.get(url), url);
  const file = url.startsWith('file:') ? fileURLToPath(url) : null;
  if (file === null || !isOwn(file) || !CODE.has(path.extname(file))) return outside(url);
  if (file.endsWith('.json')) return ofCommon(JSON.parse(read(file)), url);
  if (!isModule(file)) return ofCommon(requireOwn(file), url);
  const source = read(file);
  const known = state.compiled.get(file);
  try {
    const module = new vm.SourceTextModule(source, {
      identifier: url,
      cachedData: known?.source === source ? known.cached : undefined,
      initializeImportMeta(meta) {
        meta.url = url;
        meta.filename = file;
        meta.dirname = path.dirname(file);
        meta.resolve = (name) => resolve(name, url);
      },
      importModuleDynamically: (name) => importFrom(name, url),
    });
    if (file !== state.edited && known?.source !== source && state.compiled.size < MOST) {
      state.compiled.set(file, { source, cached: module.createCachedData(), shift: 0 });
    }
    return state.wrap?.files.has(file) ? await wrapped(module, file, url) : module;
  } catch (error) {
    return blame(file, error);
  }
}

function get(url) {
  let module = state.graph.get(url);
  if (module === undefined) {
    module = make(url);
    state.graph.set(url, module);
  }
  return module;
}

async function importFrom(name, from) {
  const module = await get(resolve(name, from));
  if (module.status === 'unlinked') await module.link((wanted, by) => get(resolve(wanted, by.identifier)));
  // Another import is linking it and has not finished.
  for (let turn = 0; module.status === 'linking' && turn < MOST; turn += 1) await null;
  if (module.status !== 'errored') await module.evaluate();
  if (module.status === 'errored') throw module.error;
  return module.namespace;
}

function requireOwn(file) {
  return Module._load(file, null, false);
}

/// Loads a project file as CommonJS or as an ECMAScript module.
async function load(file) {
  if (isModule(file) && isOwn(file) && state.transform === null)
    return importFrom(pathToFileURL(file).href, pathToFileURL(file).href);
  return requireOwn(file);
}

/// Forgets all modules of the project, and applies an edit from now on.
function renew(edit) {
  for (const file of Object.keys(Module._cache)) if (isOwn(file)) delete Module._cache[file];
  state.graph = new Map();
  state.edited = edit?.file ?? null;
  state.text = edit?.text ?? null;
  state.invalid = false;
}

module.exports = { state, install, isOwn, load, renew, requireOwn };
