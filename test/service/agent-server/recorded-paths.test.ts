import { expect, it } from 'vitest';
import { movedCommand } from '../../../src/service/agent-server/recorded-paths.ts';

it.each([
  ['cd /workspace && ls', 'cd /w/app && ls'],
  ['echo x > /workspace/out.txt', 'echo x > /w/app/out.txt'],
  ['python "/workspace/app/run.py" --to=/workspace/app', 'python "/w/app/run.py" --to=/w/app'],
  ['cat /workspace/project/app/a;ls /workspace/project', 'cat /w/app/a;ls /w/app'],
  ['PYTHONPATH=/workspace:/workspace/lib x', 'PYTHONPATH=/w/app:/w/app/lib x'],
  ['ls /workspaces /workspace-2 /tmp/workspace ./workspace ~/workspace', null],
  ['cat > Dockerfile <<EOF\nWORKDIR /workspace\nEOF\ncd /workspace', null],
  ['echo $((1<<2))\ncat <<<x /workspace/b', 'echo $((1<<2))\ncat <<<x /w/app/b'],
])('the recorded command %j runs in the workspace of now', (recorded, moved) => {
  const last = recorded.replace(/cd \/workspace$/, 'cd /w/app');
  expect(movedCommand(recorded, '/w/app')).toBe(moved ?? last);
});

it('a recorded command of this workspace stays', () => {
  const command = 'cat /workspace/project/r/a /workspace/project/r';
  expect(movedCommand(command, '/workspace/project/r')).toBe(command);
});

it('a large recorded command of unfinished heredocs is read in linear time', () => {
  const command = '<<A /workspace\n'.repeat(200_000);
  expect(movedCommand(command, '/w').startsWith('<<A /w\n<<A /workspace')).toBe(true);
});
