import { describe, expect, it } from 'vitest';
import { check } from '../../../../src/protocol/detail.ts';
import { conversationCreate } from '../../../../src/protocol/v0/requests.ts';
import { appConversationStart } from '../../../../src/protocol/v1/requests.ts';
import { emptySettings, type StoredSettings } from '../../../../src/service/app/settings/record.ts';
import type { StartRequest } from '../../../../src/service/app/starts/start-plan.ts';
import { startFromV0, startFromV1 } from '../../../../src/service/app/starts/start-request.ts';
import { specChoice, SpecRefused } from '../../../../src/service/sandboxes/specs.ts';

type Around = Parameters<typeof startFromV1>[1];
const AROUND: Around = { settings: null, specs: specChoice('process', 'not installed'), defaultReplay: null };
const withSettings = (more: Partial<StoredSettings>): Around => ({
  ...AROUND,
  settings: { ...emptySettings(), ...more },
});

function v1(body: object, around = AROUND): StartRequest {
  const checked = check(appConversationStart, body, 'body');
  if (!checked.ok) throw new Error(JSON.stringify(checked.detail));
  return startFromV1(checked.value, around);
}

function v0(body: object, around = AROUND): StartRequest {
  const checked = check(conversationCreate, body, 'body');
  if (!checked.ok) throw new Error(JSON.stringify(checked.detail));
  return startFromV0(checked.value, around, 'gui');
}

/** The refusal of both dialects. */
function refusals(body: object, around = AROUND): unknown[] {
  return [v1, v0].map((start) => {
    try {
      return start(body, around);
    } catch (error) {
      const { messageId, member } = error as { messageId?: string; member?: string | null };
      return { name: (error as Error).name, messageId, member };
    }
  });
}

const URL_WITH_PASSWORD = 'https://me:password@host.example/a.git';

describe('a start of either dialect', () => {
  it.each([
    [{}, 'CONFIGURATION$SETTINGS_NOT_FOUND', null],
    [{ replay_json: 'nonsense' }, 'REPLAY$INVALID', 'replay_json'],
    [{ replay_json: 'demo', selected_branch: '--upload-pack=x' }, 'CONFIGURATION$BRANCH_INVALID', 'selected_branch'],
    [{ replay_json: 'demo', selected_branch: 'a..b' }, 'CONFIGURATION$BRANCH_INVALID', 'selected_branch'],
  ])('is refused: %j', (body, messageId, member) => {
    const refusal = { name: 'StartRefused', messageId, member };
    expect(refusals(body)).toEqual([refusal, refusal]);
  });

  it('is refused with a model and no replay, and uses the default replay without a model', () => {
    const refusal = { messageId: 'CONFIGURATION$MODEL_NOT_SUPPORTED' };
    const model = withSettings({ agent: { llm: { model: 'm' } } });
    expect(refusals({}, model)).toMatchObject([refusal, refusal]);
    const defaultReplay = v1({ replay_json: 'demo' }).replay;
    for (const start of [v1, v0]) expect(start({}, { ...AROUND, defaultReplay }).replay).toBe(defaultReplay);
  });

  it('keeps the password of a repository for the clone alone', () => {
    const starts = [
      v1({ replay_json: 'demo', selected_repository: URL_WITH_PASSWORD }),
      v0({ replay_json: 'demo', repository: URL_WITH_PASSWORD }),
      v0({ replay_json: 'demo', create_microagent: { repo: URL_WITH_PASSWORD } }),
    ];
    for (const { cloneFrom, ...kept } of starts) {
      expect(cloneFrom).toBe(URL_WITH_PASSWORD);
      expect(kept.repository).toBe('https://host.example/a.git');
      expect(JSON.stringify(kept)).not.toContain('password');
    }
  });

  it('shows a replay by its digest', () => {
    const replay_json = JSON.stringify([{ action: 'finish', args: {} }]);
    const [one, other] = [v1({ replay_json }), v0({ replay_json })];
    expect(one.echo.replay_json).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(other.echo.replay_json).toBe(one.echo.replay_json);
    expect(v1({ replay_json: 'demo' }).echo.replay_json).not.toBe(one.echo.replay_json);
  });
});

describe('a start over V1', () => {
  it('shows its secrets masked, and keeps none of their values', () => {
    const start = v1({ replay_json: 'demo', secrets: { TOKEN: 'very-secret' } });
    expect(start).toMatchObject({ secrets: { TOKEN: 'very-secret' }, echo: { secrets: { TOKEN: '**********' } } });
    expect(JSON.stringify([start.echo, start.extras])).not.toContain('very-secret');
  });

  it('names the spec of the request, else of the settings; one that does not work here is refused', () => {
    const around = withSettings({ plain: { default_sandbox_spec_id: 'process' } });
    expect([v1({ replay_json: 'demo' }).spec, v1({ replay_json: 'demo' }, around).spec]).toEqual([null, 'process']);
    expect(() => v1({ replay_json: 'demo', sandbox_spec_id: 'bubblewrap' }, around)).toThrow(SpecRefused);
    expect(() => v1({ replay_json: 'demo', sandbox_spec_id: 'docker' })).toThrow("unknown sandbox spec 'docker'");
  });

  it('without a message begins with the message of the replay, or waits when it has none', () => {
    const recorded = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Recorded' } },
      { action: 'finish', args: {} },
    ]);
    const silent = JSON.stringify([{ action: 'finish', args: {} }]);
    const text = (body: object): unknown => (v1(body).message?.content[0] as { text?: string } | undefined)?.text;
    expect(text({ replay_json: recorded })).toBe('Recorded');
    expect(text({ replay_json: silent })).toBeUndefined();
    expect(text({ replay_json: silent, initial_message: { content: [] } })).toBe('Replay the recorded trajectory.');
    const initial_message = { content: [{ type: 'text', text: 'Mine' }] };
    expect(text({ replay_json: recorded, initial_message })).toBe('Mine');
  });
});

describe('a start over V0', () => {
  it('has an id of 32 digits, with or without dashes, and no other', () => {
    const id = '9e453669-fcc1-4778-99fa-163865b6f70b';
    for (const conversation_id of [id, id.replaceAll('-', '')]) {
      expect(v0({ replay_json: 'demo', conversation_id }).conversationId).toBe(id.replaceAll('-', ''));
    }
    expect(() => v0({ replay_json: 'demo', conversation_id: '../../etc' })).toThrow('conversation_id must be a UUID');
  });

  it('sends the images behind the text', () => {
    const { message } = v0({ replay_json: 'demo', initial_user_msg: 'see', image_urls: ['data:,x'] });
    expect(message?.content).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image', image_urls: ['data:,x'] },
    ]);
  });
});
