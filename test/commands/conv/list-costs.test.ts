/** `conv list --cost`: the costs that the list of a V1 server lacks. */
import { beforeEach, describe, it } from 'vitest';
import { ID, OTHER_ID } from '../../client/support/v1-server.ts';
import { useV1 } from '../../support/use-scripted.ts';

const at = useV1({ noun: 'conv' });
const metrics = (cost: number) => ({
  accumulated_cost: cost,
  accumulated_token_usage: { prompt_tokens: 1_000, completion_tokens: 20 },
});

beforeEach(() => {
  at.v1.agentState['stats'] = { usage_to_metrics: { agent: metrics(0.25), titles: metrics(0.1) } };
  at.v1.addConversation({ id: ID, execution_status: 'finished' });
  at.v1.addConversation({ id: OTHER_ID, execution_status: 'running', title: 'Goes on' });
});

describe('conv list --cost', () => {
  at.rows({
    'fills cost_usd and tokens, and has the total in JSON': {
      acs: 'list --cost --json',
      out: {
        items: [
          { id: OTHER_ID, cost_usd: null },
          { id: ID, cost_usd: 0.35, tokens: { input: 2_000, output: 40 } },
        ],
        has_more: false,
        total: { cost_usd: 0.35, tokens: { input: 2_000, output: 40 }, unknown: 1 },
      },
      err: '',
    },
    'prints a column and, on stderr, the total': {
      acs: 'list --cost --no-color --status finished',
      columns: 80,
      out: /^ID {8}STATUS {4}COST USD {2}TITLE .*\n0a1b2c3d {2}finished {2}\$0\.35 /,
      err: 'total: $0.35, 2,000 input and 40 output tokens\n',
    },
    'prints the column of tsv, and how many costs are not known': {
      acs: 'list --cost --fields id,cost_usd',
      out: `${OTHER_ID}\t\n${ID}\t0.35\n`,
      err: 'tokens; the cost of 1 is not known',
    },
    'prints no sum where no cost is known': {
      acs: `list --cost --status running`,
      err: 'total: 0 input and 0 output tokens; the cost of 1 is not known',
    },
    'prints ids alone with -q': { acs: 'list --cost -q', out: `${OTHER_ID}\n${ID}\n`, err: '' },
    'cannot be watched': {
      acs: 'list --cost --watch',
      code: 2,
      err: "option '--watch' cannot be used with option '--cost'",
      requests: 0,
    },
  });

  it('exits 1 with the others when a cost cannot be read', async () => {
    at.v1.addConversation({
      id: 'a'.repeat(32),
      execution_status: null,
      sandbox_status: 'PAUSED',
    });
    at.v1.before = ({ path }) =>
      path.endsWith('/events/search') ? { status: 400, json: { detail: 'broken' } } : null;
    await at.ends('list --cost --json', {
      code: 1,
      out: { total: { cost_usd: 0.35, unknown: 2 } },
      err: '1 of 3 costs could not be read: ',
    });
  });
});
