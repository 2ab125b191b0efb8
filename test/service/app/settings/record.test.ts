import { describe, expect, it } from 'vitest';
import {
  emptySettings,
  gitIdentity,
  overlay,
  plainValue,
  readSettings,
  setAt,
  valueAt,
  writeSettings,
} from '../../../../src/service/app/settings/record.ts';
import type { JsonObject } from '../../../../src/service/app/settings/json.ts';
import type { DocumentStore } from '../../../../src/service/storage/documents.ts';
import { storeOfEachTest } from '../../storage/support.ts';

const db = storeOfEachTest();

describe('the stored settings', () => {
  it('are null until they are written, and are written only when they differ', () => {
    const { documents } = db.store;
    expect(readSettings(documents)).toBeNull();
    let writes = 0;
    const counted: DocumentStore = { ...documents, write: (...given) => (writes++, documents.write(...given)) };
    writeSettings(counted, { ...emptySettings(), plain: { language: 'de' } });
    writeSettings(counted, { plain: { language: 'de' }, agent: {}, conversation: {}, mcp: [] });
    expect([writes, readSettings(documents)?.plain]).toEqual([1, { language: 'de' }]);
    writeSettings(counted, emptySettings());
    expect(writes).toBe(2);
  });

  it('have the default of a member that was not set', () => {
    const settings = { ...emptySettings(), plain: { language: 'de', v1_enabled: false } };
    const values = (['language', 'v1_enabled', 'email', 'git_full_clone'] as const).map((name) =>
      plainValue(settings, name),
    );
    expect(values).toEqual(['de', false, null, false]);
  });
});

describe('a value in nested settings', () => {
  it('is found by its path, and undefined where there is no object on the way', () => {
    const settings = { llm: { model: 'm', nothing: null }, text: 'llm' };
    const found = ['llm.model', 'llm.nothing', 'llm', 'llm.model.x', 'text.length', 'none.at.all'].map((path) =>
      valueAt(settings, path),
    );
    expect(found).toEqual(['m', null, settings.llm, undefined, undefined, undefined]);
  });

  it('is set below objects that are made, in place of what is not an object, and removed by undefined', () => {
    const settings: JsonObject = { llm: 'text' };
    setAt(settings, 'llm.model', 'm');
    setAt(settings, 'condenser.enabled', false);
    expect(settings).toEqual({ llm: { model: 'm' }, condenser: { enabled: false } });
    setAt(settings, 'llm.model', undefined);
    setAt(settings, 'agent', undefined);
    expect(settings).toEqual({ llm: {}, condenser: { enabled: false } });
  });

  it('replaces the one below it, object by object, and changes neither', () => {
    const base = { llm: { model: '', retries: 5 }, list: [1, 2], none: null };
    const over = { llm: { model: 'm' }, list: [3], none: { deep: 1 } };
    expect(overlay(base, over)).toEqual({ llm: { model: 'm', retries: 5 }, list: [3], none: { deep: 1 } });
    expect(base).toEqual({ llm: { model: '', retries: 5 }, list: [1, 2], none: null });
  });
});

describe('the identity of git', () => {
  it('has name and address only where they are set', () => {
    const identity = (plain: object) => gitIdentity({ ...emptySettings(), plain });
    expect(identity({})).toEqual({});
    expect(identity({ git_user_name: 'A B' })).toEqual({ GIT_AUTHOR_NAME: 'A B', GIT_COMMITTER_NAME: 'A B' });
    expect(identity({ git_user_email: 'a@example.com', git_user_name: null })).toEqual({
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    });
  });
});
