// Asks the project's own TypeScript for the quick fixes that an editor would offer, and prints one line of JSON for
// each error. Everything here may be controlled by the project; what is printed is only a claim.
'use strict';

const path = require('node:path');

const MAX_ERRORS = 40;
const MAX_FIXES = 12;

const ts = require(require.resolve('typescript', { paths: [process.cwd()] }));

function commandLine() {
  const named = process.argv[1] || '.';
  const config = [named, path.join(named, 'tsconfig.json')]
    .map((file) => path.resolve(file))
    .find((file) => ts.sys.fileExists(file));
  const found = config || ts.findConfigFile(process.cwd(), ts.sys.fileExists);
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} };
  return ts.getParsedCommandLineOfConfigFile(found, { noEmit: true }, host);
}

function serviceOf(parsed) {
  return ts.createLanguageService({
    getCompilationSettings: () => parsed.options,
    getProjectReferences: () => parsed.projectReferences,
    getScriptFileNames: () => parsed.fileNames,
    getScriptVersion: () => '0',
    getScriptSnapshot(file) {
      const text = ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath,
  });
}

function formatOf(text) {
  const indentation = /^( +|\t)\S/m.exec(text);
  const format = ts.getDefaultFormatCodeSettings('\n');
  format.convertTabsToSpaces = !indentation || indentation[1] !== '\t';
  format.indentSize = indentation ? indentation[1].length : 2;
  return format;
}

function changeOf(file, change) {
  const text = ts.sys.readFile(file) || '';
  const { start, length } = change.span;
  return {
    file: path.relative(process.cwd(), file),
    start: Buffer.byteLength(text.slice(0, start)),
    before: text.slice(start, start + length),
    after: change.newText,
  };
}

function fixesOf(service, file, error, text) {
  const preferences = { importModuleSpecifierPreference: 'shortest', includeCompletionsForModuleExports: true };
  const end = error.start + error.length;
  let fixes = [];
  try {
    fixes = service.getCodeFixesAtPosition(file, error.start, end, [error.code], formatOf(text), preferences);
  } catch {
    // A quick fix that fails is not offered.
  }
  return fixes
    .filter((fix) => !fix.commands && fix.changes.every((change) => !change.isNewFile))
    .slice(0, MAX_FIXES)
    .map((fix) => ({
      name: fix.fixName,
      says: fix.description,
      changes: fix.changes.flatMap((change) => change.textChanges.map((edit) => changeOf(change.fileName, edit))),
    }));
}

const parsed = commandLine();
const service = serviceOf(parsed);
let left = MAX_ERRORS;
for (const file of parsed.fileNames) {
  if (left <= 0 || file.includes('/node_modules/')) continue;
  const text = ts.sys.readFile(file) || '';
  const all = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];
  for (const error of all.slice(0, left)) {
    if (error.category !== ts.DiagnosticCategory.Error || error.start === undefined) continue;
    left -= 1;
    const found = {
      greenlight: 'typescript',
      file: path.relative(process.cwd(), file),
      line: text.slice(0, error.start).split('\n').length,
      message: ts.flattenDiagnosticMessageText(error.messageText, '\n'),
      fixes: fixesOf(service, file, error, text),
    };
    console.log(JSON.stringify(found));
  }
}
