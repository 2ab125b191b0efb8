import { describe, expect, it } from 'vitest';
import { chatHelp, readAnswer, readChatInput } from '../../../src/commands/conv/chat-commands.ts';

const command = (name: string, text = '') => ({ type: 'command', name, text });

describe('readChatInput', () => {
  it.each([
    ['', { type: 'nothing' }],
    [' \n ', { type: 'nothing' }],
    ['go on', { type: 'message', text: 'go on' }],
    [' /diff', { type: 'message', text: ' /diff' }],
    ['see\n/diff', { type: 'message', text: 'see\n/diff' }],
    ['//etc/hosts', { type: 'message', text: '/etc/hosts' }],
    ['//', { type: 'message', text: '/' }],
    ['/diff', command('diff')],
    ['/diff ', command('diff')],
    ['/stop', command('stop')],
    ['/approve', command('approve')],
    ['/reject', command('reject')],
    ['/reject  use b.txt\nand c.txt ', command('reject', 'use b.txt\nand c.txt')],
    ['/quit', command('quit')],
    ['/help', command('help')],
    ['/', { type: 'unknown', word: '/' }],
    ['/nope at all', { type: 'unknown', word: '/nope' }],
    ['/Quit', { type: 'unknown', word: '/Quit' }],
    ['/etc/hosts is wrong', { type: 'unknown', word: '/etc/hosts' }],
    ['/quit now', { type: 'unknown', word: '/quit' }],
    ['/constructor', { type: 'unknown', word: '/constructor' }],
  ])('reads %j', (text, input) => {
    expect(readChatInput(text)).toEqual(input);
  });
});

describe('readAnswer', () => {
  it.each([
    ['y', command('approve')],
    [' Yes ', command('approve')],
    ['n', command('reject')],
    ['no', command('reject')],
    ['not on main', command('reject', 'not on main')],
    ['yes please', command('reject', 'yes please')],
    ['//tmp is better', command('reject', '/tmp is better')],
    ['/approve', command('approve')],
    ['/reject why', command('reject', 'why')],
    ['/diff', command('diff')],
    ['', { type: 'nothing' }],
    ['/y', { type: 'unknown', word: '/y' }],
  ])('reads %j', (text, input) => {
    expect(readAnswer(text)).toEqual(input);
  });
});

it('the help names each command', () => {
  const help = chatHelp().join('\n');
  for (const name of ['diff', 'stop', 'approve', 'reject', 'quit', 'help']) expect(help).toContain(`/${name}`);
});
