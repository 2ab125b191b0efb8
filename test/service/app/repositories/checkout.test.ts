import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkOut } from '../../../../src/service/app/repositories/checkout.ts';
import type { StartRequest } from '../../../../src/service/app/starts/start-plan.ts';
import { folderOfEachTest } from '../../../support/temporary-folder.ts';

const folder = folderOfEachTest();
let workspace: string;
beforeEach(() => {
  workspace = path.join(folder.path, 'workspace');
  mkdirSync(workspace);
});

/** The providers whose token was requested. */
function checkedOut(request: Partial<StartRequest>, isFresh: boolean, asked: string[] = []) {
  return checkOut({ cloneFrom: null, provider: null, branch: null, ...request } as StartRequest, {
    supervisor: { workspaceOf: () => workspace },
    env: { PATH: process.env.PATH, HOME: folder.path },
    stagingDir: path.join(folder.path, 'staging'),
    providerAccess(provider) {
      asked.push(provider);
      return { token: 't', host: null };
    },
    sandboxId: 's',
    isFresh,
    signal: new AbortController().signal,
  });
}

describe('the files of a conversation without a repository', () => {
  it('are an empty repository in a new sandbox', async () => {
    expect(await checkedOut({}, true)).toBeNull();
    expect(readdirSync(workspace)).toEqual(['.git']);
  });

  it('are left as they are in the sandbox of another one', async () => {
    expect(await checkedOut({}, false)).toBeNull();
    expect(readdirSync(workspace)).toEqual([]);
  });
});

describe('a repository that cannot be found', () => {
  it('fails without a change of the workspace, and requests a token only with a provider', async () => {
    const asked: string[] = [];
    await expect(checkedOut({ cloneFrom: '/no/such/path' }, true, asked)).rejects.toThrow('does not exist');
    expect(asked).toEqual([]);
    const wrong = { cloneFrom: 'ext::sh -c x', provider: 'github' as const };
    await expect(checkedOut(wrong, true, asked)).rejects.toThrow('is not an absolute path');
    expect([asked, readdirSync(workspace), existsSync(path.join(folder.path, 'staging'))]).toEqual([
      ['github'],
      [],
      false,
    ]);
  });
});
