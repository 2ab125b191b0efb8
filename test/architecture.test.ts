import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { breaches } from './architecture/rules.ts';
import { readSources, readTree } from './architecture/sources.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** Breaches in a tree of test files, each one line. */
function breachesOf(files: Record<string, string>): string[] {
  return breaches(readSources(new Map(Object.entries(files))));
}

describe('the sources', () => {
  it('follow the rules', () => {
    expect(breaches(readSources(readTree(root, 'src')))).toEqual([]);
  });
});

describe('the rules', () => {
  it('allow a command to load records and to import the types of its ports', () => {
    const found = breachesOf({
      'src/commands/sandbox/list.ts': `
        import type { Context } from '../context.ts';
        import type { Server } from '../../client/shared/server.ts';
        import { sandboxView } from './view.ts';
        import { idOf } from '../ids.ts';`,
      'src/commands/sandbox/view.ts': `import { age } from '../../base/text/time.ts';`,
      'src/commands/ids.ts': `import { AppError } from '../base/errors.ts';`,
      'src/commands/context.ts': `import type { Server } from '../client/shared/server.ts';`,
      'src/client/shared/server.ts': `export interface Server {}`,
      'src/base/errors.ts': `export class AppError extends Error {}`,
      'src/base/text/time.ts': `export const age = 1;`,
    });

    expect(found).toEqual([]);
  });

  it('report a command that imports a dialect, by any form of import', () => {
    const v1 = { 'src/client/v1/index.ts': `export const list = 1;` };
    const asked = (statement: string) =>
      breachesOf({ ...v1, 'src/commands/conv/list.ts': statement });

    const breach =
      'src/commands/conv/list.ts may not import src/client/v1/index.ts: client is not ' +
      'allowed in commands';
    expect(asked(`import { list } from '../../client/v1/index.ts';`)).toEqual([breach]);
    expect(asked(`import type { List } from '../../client/v1/index.ts';`)).toEqual([breach]);
    expect(asked(`export * from '../../client/v1/index.ts';`)).toEqual([breach]);
    expect(asked(`export const load = () => import('../../client/v1/index.ts');`)).toEqual([
      breach,
    ]);
    expect(asked(`export type List = import('../../client/v1/index.ts').List;`)).toEqual([breach]);
  });

  it('report an import of one noun by another', () => {
    const found = breachesOf({
      'src/commands/conv/stop.ts': `import { pause } from '../sandbox/pause.ts';`,
      'src/commands/sandbox/pause.ts': `export const pause = 1;`,
      'src/commands/shared/bulk.ts': `import { pause } from '../sandbox/pause.ts';`,
      'src/commands/index.ts': `import { pause } from './sandbox/pause.ts';`,
    });

    expect(found).toEqual([
      'src/commands/conv/stop.ts may not import src/commands/sandbox/pause.ts: the noun ' +
        'sandbox is not allowed in conv',
      'src/commands/shared/bulk.ts may not import src/commands/sandbox/pause.ts: the noun ' +
        'sandbox is not allowed in what nouns share',
    ]);
  });

  it('report imports between the service and the client', () => {
    const found = breachesOf({
      'src/service/app/routes.ts': `import { AppError } from '../../base/errors.ts';`,
      'src/client/v1/list.ts': `import { page } from '../../service/page.ts';`,
      'src/service/page.ts': `import { Page } from '../protocol/v1/page.ts';`,
      'src/protocol/v1/page.ts':
        `import { Item } from '../../domain/item.ts'; export ` + `class Page {}`,
      'src/domain/item.ts': `export class Item {}`,
      'src/base/errors.ts': `export class AppError extends Error {}`,
    });

    expect(found).toEqual([
      'src/service/app/routes.ts may not import src/base/errors.ts: errors is not allowed ' +
        'in service',
      'src/client/v1/list.ts may not import src/service/page.ts: service is not allowed in client',
      'src/protocol/v1/page.ts may not import src/domain/item.ts: domain is not allowed in ' +
        'protocol',
    ]);
  });

  it('allow only its owner to load a library, and every module to import its types', () => {
    const found = breachesOf({
      'src/commands/conv/list.ts':
        `import type { Command } from 'commander'; import width ` + `from 'fast-string-width';`,
      'src/base/text/width.ts': `export const width = () => import('fast-string-width');`,
      'src/base/text/case.ts': `import { camelCase } from 'change-case/dist/index.js';`,
    });

    expect(found).toEqual([
      'src/commands/conv/list.ts may not load fast-string-width: its owner is src/base/text/',
      'src/base/text/case.ts loads change-case, which has no owner in the rules',
    ]);
  });

  it('report uses of the process, the network and the clock outside of the edges', () => {
    const found = breachesOf({
      'src/main.ts': `process.exitCode = Date.now();`,
      'src/service/agent-server/main.ts': `console.log(process.pid);`,
      'src/output/emit.ts': `
        import process from 'node:process';
        console.log(globalThis.fetch);
        export const now = () => [Date.now(), new Date(), new Date(0)];`,
      'src/domain/item.ts':
        `export const ended = (process: { exitCode: number }) => ` + `process.exitCode;`,
      'src/domain/item-state.ts':
        `export const state = (item: { process: string }) => ` + `item.process;`,
    });

    expect(found).toEqual([
      'src/output/emit.ts:2 uses process: use the context instead',
      'src/output/emit.ts:3 uses console: use the context instead',
      'src/output/emit.ts:3 uses fetch: use the context instead',
      'src/output/emit.ts:4 uses Date.now: use the context instead',
      'src/output/emit.ts:4 uses new Date(): use the context instead',
    ]);
  });

  it('report import cycles of any length, also through dynamic and type imports', () => {
    const found = breachesOf({
      'src/base/text/c.ts': `import { a } from './a.ts';`,
      'src/base/text/a.ts': `import { b } from './b.ts';`,
      'src/base/text/b.ts': `export const load = () => import('./c.ts');`,
      'src/base/text/d.ts': `import type { E } from './e.ts';`,
      'src/base/text/e.ts': `import { d } from './d.ts';`,
    });

    expect(found).toEqual([
      'cycle: src/base/text/a.ts → src/base/text/b.ts → src/base/text/c.ts → src/base/text/a.ts',
      'cycle: src/base/text/d.ts → src/base/text/e.ts → src/base/text/d.ts',
    ]);
  });

  it('report a file that is too long, an import of a missing file and a computed import', () => {
    const found = breachesOf({
      'src/domain/long.ts': '\n'.repeat(451),
      'src/base/text/lost.ts': `import { here } from './gone.ts';`,
      'src/base/text/hidden.ts': `export const load = (name: string) => import(name);`,
    });

    expect(found).toEqual([
      'src/base/text/lost.ts imports src/base/text/gone.ts, which does not exist',
      'src/base/text/hidden.ts loads a module whose name is computed',
      'src/domain/long.ts has 451 lines: split it by idea (450 at most)',
    ]);
  });
});
