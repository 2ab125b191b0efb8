import { readFile } from 'node:fs/promises';
import path from 'node:path';

interface OpenapiDocument {
  info: object;
  paths: Record<string, unknown>;
}

/** Reads what scripts/build/openapi.ts wrote; `root`: the folder of the package. */
export async function readDocument(
  root: string,
  server: 'app-server' | 'agent-server',
): Promise<OpenapiDocument> {
  const text = await readFile(path.join(root, 'dist', 'openapi', `${server}.json`), 'utf8');
  return JSON.parse(text) as OpenapiDocument;
}
