import { describe, expect, it } from 'vitest';
import { NOT_FOUND } from '../support/server.ts';
import { useWorld, type Ending } from '../support/use-world.ts';

/** A machine on which nothing is configured. */
const at = useWorld({ target: 'none', script: () => NOT_FOUND });
const CLOSED = '--base-url http://127.0.0.1:1';

describe('the root command', () => {
  at.rows({
    'prints its help and exits 0 without arguments': { acs: '', out: /^Usage: acs /m, err: '' },
    'prints its help with --help': { acs: '--help', out: /^Usage: acs /m, err: '' },
    'prints its help with -h': { acs: '-h', out: /^Usage: acs /m, err: '' },
    'prints the help of a noun that is given without a verb': {
      acs: 'conv',
      out: /^Usage: acs conv/m,
      err: '',
    },
    'prints only the version with --version': {
      acs: '--version',
      out: /^\d+\.\d+\.\d+\S*\n$/,
      err: '',
    },
    'exits 2 for an unknown flag and names the help': {
      acs: 'conv list --nope',
      code: 2,
      out: '',
      err: /^error: unknown option '--nope'\n {2}see: acs conv list --help\n$/,
    },
    'names the help of the command, whose flags stand before it': {
      acs: '--timeout 5s conv list',
      code: 2,
      err: '\n  see: acs conv list --help\n',
    },
    'names the help of the command, of which an argument is the name of another': {
      acs: 'conv show list --nope',
      code: 2,
      err: '\n  see: acs conv show --help\n',
    },
    'prints a usage error as JSON with --json': {
      acs: 'conv list --nope --json',
      code: 2,
      out: '',
      err: `{"error":{"code":"usage","message":"unknown option '--nope'"`,
    },
    'exits 2 for two different formats': {
      acs: 'conv list --json -q',
      code: 2,
      err: 'name different formats',
    },
    'exits 2 for --timeout of a command that does not wait': {
      acs: 'conv list --timeout 5m',
      code: 2,
    },
    'exits 3 off a terminal without a server': {
      acs: 'conv list',
      code: 3,
      out: '',
      err: ['ACS_BASE_URL', 'ACS_API_KEY', '--profile local'],
    },
    'exits 3 for a variable that is set and empty': {
      acs: 'conv list',
      env: { ACS_BASE_URL: '' },
      code: 3,
      err: 'ACS_BASE_URL is set but empty',
    },
  });

  it.each([
    ['conv lst', 'did you mean one of list, ls? See: acs conv --help'],
    ['conv frobnicate', 'see: acs conv --help'],
    ['-p work settings profile frobnicate --json', 'see: acs settings profile --help'],
    ['cnov', 'did you mean conv? See: acs --help'],
    ['frobnicate', 'see: acs --help'],
    ['exec x -- ls', 'did you mean acs sandbox exec? See: acs --help'],
    ['conv interrupt x', 'did you mean acs conv stop? See: acs conv --help'],
    ['new x', 'did you mean acs conv new? See: acs --help'],
    ['ls', 'did you mean acs conv list? See: acs --help'],
    ['logs x', 'did you mean acs conv events? See: acs --help'],
    ['shell x', 'did you mean acs sandbox shell? See: acs --help'],
    ['conv cp x:a b', 'did you mean acs sandbox cp? See: acs conv --help'],
    ['conv apply x', 'did you mean acs conv pull? See: acs conv --help'],
    ['conv kill x', 'did you mean acs conv stop? See: acs conv --help'],
    ['sandbox kill x', 'did you mean acs sandbox delete? See: acs sandbox --help'],
    ['sandbox stop x', 'did you mean acs sandbox pause? See: acs sandbox --help'],
    ['secret new x', 'see: acs secret --help'],
    ['-v', 'did you mean --version, or --debug? See: acs --help'],
    ['constructor', 'see: acs --help'],
    ['lst --help', "error: unknown command 'lst'\n  see: acs --help\n"],
    [
      'conv lst -h',
      "error: unknown command 'lst'\n  did you mean one of list, ls? See: acs conv --help\n",
    ],
    [
      '--quiet settings profil --help',
      "error: unknown command 'profil'\n  did you mean profile? See: acs settings --help\n",
    ],
  ])('an unknown command points to the help of its noun: %s', async (line, err) => {
    await at.ends(line, { code: 2, out: '', err });
  });

  it.each([
    ['sandbox pause x --wait', 'see: acs sandbox pause --help'],
    ['conv list --color', 'see: acs conv list --help'],
    ['conv send x --wiat', 'did you mean --wait? See: acs conv send --help'],
  ])('an unknown option never names its opposite: %s', async (line, hint) => {
    await at.ends(line, { code: 2, err: `\n  ${hint}\n` });
  });

  it.each<[string[], Ending['err']]>([
    [['api', 'FOO', '/x'], "invalid value 'FOO' of METHOD: it must be one of GET, POST"],
    [['git-provider', 'set', 'FOO'], "invalid value 'FOO' of provider: it must be one of github, "],
    [['conv', 'list', '-L', "a' is invalid\nb"], "b' of --limit: it must be a positive integer"],
    [['conv', 'list', '--format', ''], "invalid value '' of --format: it must be one of table, "],
    [
      ['conv', 'list', '--request-timeout', 'soon'],
      ["invalid value 'soon' of --request-timeout: it must be a duration such as", '5m'],
    ],
    [
      ['conv', 'list', '--request-timeout', '0s'],
      "invalid value '0s' of --request-timeout: it must be more than 0",
    ],
    [
      ['conv', 'list', '--request-timeout', '30'],
      "invalid value '30' of --request-timeout: it must be",
    ],
  ])(
    'names the argument or the flag of a wrong value, before any request: %j',
    async (args, err) => {
      await at.ends([...args, ...CLOSED.split(' ')], { code: 2, err, hides: 'command-argument' });
    },
  );

  it.each(['0', 'Infinity', 'fast', ''])(
    'exits 3 for ACS_RATE=%s, before any request',
    async (ACS_RATE) => {
      const { err } = await at.ends(`conv list ${CLOSED}`, { env: { ACS_RATE }, code: 3 });
      expect(err).toContain(`ACS_RATE is "${ACS_RATE}"`);
    },
  );
});
