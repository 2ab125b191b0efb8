import { access, constants } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { fileProblem } from '../../base/errors.ts';
import { KEY_VARIABLES } from '../../base/text/secret-names.ts';
import type { ResolvedTarget } from '../../local/profiles/resolve.ts';
import { pass, warn, type Finding } from './findings.ts';

/** Variables that contradict each other, or name what cannot be used. */
export async function checkEnvironment({
  ctx,
  target,
}: {
  ctx: Context;
  target: ResolvedTarget | null;
}): Promise<Finding> {
  const { env } = ctx.local;
  const used = KEY_VARIABLES.find((name) => target?.key_source === `env:${name}`);
  const others = KEY_VARIABLES.filter(
    (name) => used !== undefined && env[name] !== undefined && env[name] !== env[used],
  );
  const authorities = env.NODE_EXTRA_CA_CERTS;
  const unread = authorities
    ? await access(authorities, constants.R_OK).then(() => null, fileProblem)
    : null;
  const isOtherServer =
    target?.base_url_source === 'env:ACS_BASE_URL' &&
    env.ACS_PROFILE !== undefined &&
    target.profile === null;
  const problems = [
    ...(target?.notices ?? []),
    isOtherServer &&
      'ACS_BASE_URL and ACS_PROFILE name different servers, and ACS_BASE_URL is used',
    ...others.map((name) => `${used} and ${name} have different keys, and ${used} is used`),
    ...['http_proxy', 'https_proxy', 'no_proxy'].flatMap((name) => proxyProblems(env, name)),
    unread !== null && `NODE_EXTRA_CA_CERTS is not used: ${unread.reason}`,
    env.NODE_TLS_REJECT_UNAUTHORIZED === '0' &&
      'NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not checked',
  ].filter((problem) => problem !== false);
  if (problems.length === 0) return pass('no variables contradict each other');
  return warn(problems.join('; '), 'unset what is not meant: acs help environment');
}

function proxyProblems(env: Context['local']['env'], name: string): (string | false)[] {
  const upperName = name.toUpperCase();
  const { [name]: lower = '', [upperName]: upper = '' } = env;
  const [used, proxy] = lower === '' ? [upperName, upper] : [name, lower];
  const isUrl = URL.canParse(proxy) && /^https?:$/.test(new URL(proxy).protocol);
  const differ = lower !== '' && upper !== '' && lower !== upper;
  const isWrong = name !== 'no_proxy' && proxy !== '' && !isUrl;
  return [
    differ && `${name} and ${upperName} differ, and ${name} is used`,
    isWrong && `${used} is not a URL such as http://proxy.example:3128`,
  ];
}
