// Checks every GraphQL query in the sources against the schema that GitHub publishes. Prints what is wrong.
// Usage: node tests/graphql.mjs FOLDER, where FOLDER has the packages `graphql` and `@octokit/graphql-schema`.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const packages = path.resolve(process.argv[2]);
const require = createRequire(path.join(packages, 'package.json'));
const { buildSchema, parse, validate } = require('graphql');
const file = path.join(packages, 'node_modules/@octokit/graphql-schema/schema.graphql');
// GitHub's own schema repeats a field now and then.
const schema = buildSchema(fs.readFileSync(file, 'utf8'), { assumeValidSDL: true });

const folder = 'src/github';
let queries = 0;
let mistakes = 0;
for (const name of fs.readdirSync(folder).filter((name) => name.endsWith('.rs'))) {
  const source = fs.readFileSync(path.join(folder, name), 'utf8');
  for (const [, text] of source.matchAll(/"((?:query|mutation)\b[^"]*\{[^"]*)"/g)) {
    queries += 1;
    for (const { message } of validate(schema, parse(text.replace(/\\\n\s*/g, ' ')))) {
      mistakes += 1;
      console.error(`${folder}/${name}: ${message}`);
    }
  }
}
console.log(`${queries} queries, ${mistakes} mistakes`);
process.exit(queries === 0 || mistakes > 0 ? 1 : 0);
