import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useNewWorld } from './new-world.ts';
import { json, makeRepository } from './support.ts';

const at = useNewWorld();
const { acs, sent, sentBody } = at;

let repository: string;
beforeAll(async () => {
  repository = await makeRepository(path.join(at.world.dir, 'repository'));
});

describe('every flag', () => {
  it('is sent over V1', async () => {
    const file = path.join(at.world.dir, 'instructions.md');
    await writeFile(file, 'Be brief.');
    const sandbox = json<{ id: string }>(await at.world.acs('sandbox', 'start', '--json')).id;
    const ended = await at.world.invoke({
      args: [
        ...['conv', 'new', 'look at this', '--repo', repository, '--branch', 'main', '--model', 'openai/some-model'],
        ...['--sandbox', sandbox, '--image', 'https://acs.example/cat.png', '--instructions', file],
        ...['--secret', 'TOKEN', '--id', 'cd'.repeat(16), '--replay', 'demo', '--json'],
      ],
      env: { ACS_BASE_URL: at.proxy.url, TOKEN: 'value-that-must-not-show' },
    });
    expect(ended.code, ended.err).toBe(0);
    expect(sentBody()).toEqual({
      conversation_id: 'cdcdcdcd-cdcd-cdcd-cdcd-cdcdcdcdcdcd',
      sandbox_id: sandbox,
      initial_message: {
        role: 'user',
        run: true,
        content: [
          { type: 'text', text: 'look at this' },
          { type: 'image', image_urls: ['https://acs.example/cat.png'] },
        ],
      },
      selected_repository: repository,
      selected_branch: 'main',
      llm_model: 'openai/some-model',
      system_message_suffix: 'Be brief.',
      secrets: { TOKEN: 'value-that-must-not-show' },
      replay_json: 'demo',
    });
    expect(ended.out + ended.err).not.toContain('value-that-must-not-show');
  });

  it('is sent over V0', async () => {
    const mcp = path.join(at.world.dir, 'mcp.json');
    await writeFile(
      mcp,
      JSON.stringify({ stdio_servers: [{ name: 'files', command: 'mcp-files', env: { KEY: 'hidden-value' } }] }),
    );
    const instructions = path.join(at.world.dir, 'instructions.md');
    await writeFile(instructions, 'Be brief.');
    const image = path.join(at.world.dir, 'dot.png');
    await writeFile(image, Buffer.from('89504e470d0a1a0a', 'hex'));
    const ended = await acs(
      ...['look at this', '--api', 'v0', '--repo', repository, '-b', 'main', '--image', image, '--replay', 'demo'],
      ...['--instructions', instructions, '--mcp-config', mcp, '--json'],
    );
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended).dialect).toBe('v0');
    expect(sent()[0]?.route).toBe('POST /api/conversations');
    expect(sentBody()).toMatchObject({
      initial_user_msg: 'look at this',
      repository,
      selected_branch: 'main',
      image_urls: ['data:image/png;base64,iVBORw0KGgo='],
      conversation_instructions: 'Be brief.',
      replay_json: 'demo',
      mcp_config: { stdio_servers: [{ name: 'files', command: 'mcp-files', env: { KEY: 'hidden-value' } }] },
    });
    expect(ended.out + ended.err).not.toContain('hidden-value');
  });
});
