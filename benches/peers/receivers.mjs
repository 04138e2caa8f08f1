// Receives webhooks with a library that others wrote, as its manual says: `node receivers.mjs probot|octokit SECRET`.
// Prints its address. Nothing is stored.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

const [name, secret] = process.argv.slice(2);

async function middleware() {
  if (name === 'octokit') {
    const { Webhooks, createNodeMiddleware } = await import('@octokit/webhooks');
    const webhooks = new Webhooks({ secret });
    webhooks.on('pull_request.closed', () => {});
    return createNodeMiddleware(webhooks, { path: '/webhook' });
  }
  const { Probot, createNodeMiddleware } = await import('probot');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const probot = new Probot({
    appId: 1,
    privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }),
    secret,
    logLevel: 'fatal',
  });
  const app = (app) => app.on('pull_request.closed', () => {});
  return createNodeMiddleware(app, { probot, webhooksPath: '/webhook' });
}

const server = createServer(await middleware());
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
