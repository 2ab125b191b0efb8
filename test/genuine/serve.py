"""Run a genuine OpenHands app server on loopback, with agent servers as plain processes.

Call it with the Python of an environment made by set-up.mjs:
    ENV/bin/python serve.py --port 3111 --data DIR [--key KEY] [--model-url URL]
Prints "ready http://127.0.0.1:PORT" when it answers. SIGTERM, Ctrl-C or the end of stdin ends it and its sandboxes:
the process that started it may end in any way.
"""
import argparse
import asyncio
import contextlib
import ctypes
import importlib
import importlib.util
import json
import multiprocessing.forkserver
import os
import runpy
import shlex
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

HERE = '127.0.0.1'
AGENT_SERVER_LOG = '.agent-server.log'


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--port', type=int, default=3111)
    p.add_argument('--data', default='openhands-data', help='folder for everything the server keeps')
    p.add_argument('--key', default='', help='what X-Session-API-Key must be; empty = an open server')
    p.add_argument('--model-url', help='store settings for this OpenAI-compatible URL once the server is up')
    p.add_argument('--model', default='openai/gpt-4o', help='model name to go with --model-url')
    p.add_argument('--sandbox-port', type=int, help='first port tried for sandboxes (default: port + 5000)')
    p.add_argument('--sandbox-env', action='append', default=[], metavar='NAME=VALUE')
    p.add_argument('--event-delay', type=float, help='seconds a sandbox may hold back events (upstream: 30)')
    p.add_argument('--verbose', action='store_true', help='let the server log to stderr')
    return p.parse_args()


def environment(a, data):
    """What the server reads from its environment; kept to the names that all releases know."""
    url = f'http://{HERE}:{a.port}'
    sandbox_env = {
        'OH_ENABLE_VS_CODE': '0',
        # Without a webhook the app server never sees an event of the sandbox.
        'OH_WEBHOOKS_0_BASE_URL': f'{url}/api/v1/webhooks',
        **({'OH_WEBHOOKS_0_FLUSH_DELAY': str(a.event_delay)} if a.event_delay else {}),
        **dict(pair.split('=', 1) for pair in a.sandbox_env),
    }
    spec = lambda name: {'id': name, 'command': ['python', '-m', 'openhands.agent_server'],
                         'initial_env': sandbox_env, 'working_dir': '.'}
    for name in ('home', 'tmp', 'sandboxes'):
        (data / name).mkdir(parents=True, exist_ok=True)
    env = {
        'HOME': data / 'home', 'TMPDIR': data / 'tmp', 'OH_PERSISTENCE_DIR': data, 'FILE_STORE_PATH': data,
        'OH_WEB_URL': url, 'SERVE_FRONTEND': 'false', 'OH_SANDBOX_KIND': 'ProcessSandboxServiceInjector',
        'OH_SANDBOX_BASE_WORKING_DIR': data / 'sandboxes',
        'OH_SANDBOX_BASE_PORT': a.sandbox_port or a.port + 5000,
        'OH_SANDBOX_SPEC_KIND': 'ProcessSandboxSpecServiceInjector',
        'OH_SANDBOX_SPEC_SPECS': json.dumps([spec('agent-default'), spec('agent-alt')]),
        # For the V0 routes: runtime without a container, no browser, caller may choose ids.
        'RUNTIME': 'cli', 'ALLOW_SET_CONVERSATION_ID': '1', 'SKIP_DEPENDENCY_CHECK': '1',
        'ALLOW_INSECURE_GIT_ACCESS': 'true',  # a git host of the tests has no TLS
        'LITELLM_LOCAL_MODEL_COST_MAP': 'True', 'OPENHANDS_SUPPRESS_BANNER': '1',  # no look-up on the internet
        # A model that fails is asked once; else V0 asks for minutes, and answers nobody meanwhile.
        'LLM_NUM_RETRIES': '1', 'LLM_RETRY_MIN_WAIT': '1', 'LLM_RETRY_MAX_WAIT': '1',
        'ENABLE_BROWSER': 'false', 'AGENT_ENABLE_BROWSING': 'false', 'AGENT_ENABLE_JUPYTER': 'false',
        'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}',
        **loopback_only(),
    }
    for name in [n for n in os.environ if n.startswith(('OH_', 'LLM_', 'SANDBOX_', 'GIT_')) or
                 n.lower().endswith('_proxy') or n == 'PYTHONDONTWRITEBYTECODE']:
        del os.environ[name]
    os.environ.update({k: str(v) for k, v in env.items()})
    os.environ.setdefault('USER', 'user')
    os.environ.pop('SESSION_API_KEY', None)
    if a.key:
        os.environ['SESSION_API_KEY'] = a.key


def loopback_only():
    """Whatever the server or a sandbox asks the internet for fails at once, with or without a network."""
    nowhere, here = 'http://127.0.0.1:9', f'{HERE},localhost'
    return {'HTTP_PROXY': nowhere, 'HTTPS_PROXY': nowhere, 'ALL_PROXY': nowhere, 'NO_PROXY': here,
            'http_proxy': nowhere, 'https_proxy': nowhere, 'all_proxy': nowhere, 'no_proxy': here,
            'GIT_CONFIG_NOSYSTEM': '1', 'GIT_TERMINAL_PROMPT': '0'}


def adapt():
    """Corrections that plain processes need; requests and answers stay as they are."""
    for name in ('openhands.app_server.utils.environment', 'openhands.utils.environment'):
        with contextlib.suppress(ModuleNotFoundError):
            # In a container the server would call its sandboxes by a host name that only Docker
            # knows.
            importlib.import_module(name).is_running_in_docker = lambda: False
    wait_for_locks()
    import psutil
    from openhands.app_server.sandbox import process_sandbox_service as service
    from openhands.app_server.sandbox.sandbox_models import SandboxStatus

    def status(self, info):
        # Upstream calls a process RUNNING only while it is on a CPU, so an idle one stays STARTING.
        try:
            state = psutil.Process(info.pid).status()
        except psutil.Error:
            return SandboxStatus.MISSING
        if state == psutil.STATUS_ZOMBIE:
            return SandboxStatus.MISSING
        return SandboxStatus.PAUSED if state == psutil.STATUS_STOPPED else SandboxStatus.RUNNING

    forks = fork_server()

    async def start(self, sandbox_id, port, working_dir, session_api_key, sandbox_spec):
        # Upstream binds every interface, and releases with V0 log into a pipe that nobody reads and
        # that fills up. An agent server clears the tmux sessions it finds when it starts: each has
        # a socket of its own.
        sockets = tempfile.mkdtemp(dir=os.environ['TMUX_TMPDIR'])
        env = {**os.environ, **sandbox_spec.initial_env, 'SESSION_API_KEY': session_api_key, 'TMUX_TMPDIR': sockets}
        process = forks.Process(target=run_agent_server, args=(
            self.agent_server_module, ['--host', HERE, '--port', str(port)], env, working_dir))
        await asyncio.to_thread(process.start)
        await asyncio.sleep(1)
        if not process.is_alive():
            raise service.SandboxError(f'Agent process failed to start, see {working_dir}/{AGENT_SERVER_LOG}')
        return process

    if serves_v0():
        # Its settings have no number of retries: a failing model would be asked for minutes, while
        # the sandbox hangs.
        from openhands.sdk import LLM
        LLM.model_fields['num_retries'].default = 0
        LLM.model_rebuild(force=True)
    look = service.ProcessSandboxService._process_to_sandbox_info

    async def look_patiently(self, sandbox_id, info):
        # Upstream calls a sandbox broken that has not answered for 5 s; on a busy machine it is
        # slow.
        for _ in range(10):
            found = await look(self, sandbox_id, info)
            if found.status != SandboxStatus.ERROR:
                break
            await asyncio.sleep(0.5)
        return found

    service.ProcessSandboxService._process_to_sandbox_info = look_patiently
    # 30 s upstream; a machine with other work needs longer to load an agent server.
    service.ProcessSandboxService._wait_for_server_ready.__defaults__ = (500,)
    service.ProcessSandboxService._get_process_status = status
    service.ProcessSandboxService._start_agent_process = start
    for name in ('openhands.app_server.middleware', 'openhands.server.middleware'):
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            let_sandboxes_speak(importlib.import_module(name).RateLimitMiddleware)
    with contextlib.suppress(ModuleNotFoundError):
        adapt_v0(importlib.import_module('openhands.runtime.impl.cli.cli_runtime'))
    return service._processes


def fork_server():
    """Starts a process that imports the SDK once and is then forked for each sandbox. The import takes 12 s of one
    processor; upstream starts a new interpreter for each sandbox. The agent server itself is imported in the fork: it
    reads its configuration from the environment when it is imported."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(['openhands.sdk', 'openhands.tools.preset.default'])
    # Its socket is made in the folder for temporary files, whose path may be too long.
    tempfile.tempdir = os.environ['TMUX_TMPDIR']
    multiprocessing.forkserver.ensure_running()
    tempfile.tempdir = None
    return context


def run_agent_server(module, arguments, env, folder):
    """Runs the module as `python -m` does, in a fork of the fork server."""
    os.setsid()
    die_with_parent()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    log = os.open(AGENT_SERVER_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(source, target)
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name='__main__', alter_sys=True)


def wait_for_locks():
    """Upstream waits 5 s for another writer of its database. On a busy machine a writer takes longer to come to its
    end, and one error leads to the next: each takes seconds to be logged, in which no writer goes on."""
    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **options: connect(*args, **{**options, 'timeout': 120})


def let_sandboxes_speak(middleware):
    """A sandbox in a container has an address of its own, and so has its limit of requests. Here it would share that of
    the caller: its events would be refused, and come 5 s later behind younger ones."""
    limited = middleware.is_rate_limited_request
    middleware.is_rate_limited_request = lambda self, request: (
        not request.url.path.startswith('/api/v1/webhooks') and limited(self, request))


def adapt_v0(cli):
    """The V0 runtime without a container moves the whole server into the newest workspace, breaks it when that
    is deleted, and refuses its own helper scripts for git changes because they lie outside of the workspace."""
    cli.os = SimpleNamespace(**{**vars(os), 'chdir': lambda path: None})
    run, check = cli.CLIRuntime._execute_shell_command, cli.CLIRuntime._sanitize_filename

    def run_in_workspace(self, command, timeout):
        result = run(self, f'cd {shlex.quote(self._workspace_path)}\n{command}', timeout)
        result.command = command
        return result

    cli.CLIRuntime._execute_shell_command = run_in_workspace
    cli.CLIRuntime._sanitize_filename = lambda self, name: (
        name if name.endswith(('/git_changes.py', '/git_diff.py')) else check(self, name))


def die_with_parent():
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def call(a, path, body=None):
    request = urllib.request.Request(
        f'http://{HERE}:{a.port}{path}', json.dumps(body).encode() if body else None,
        {'Content-Type': 'application/json', 'X-Session-API-Key': a.key})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
        return answer.status


def serves_v0():
    """Releases with the V0 routes have their settings too, and no others."""
    return importlib.util.find_spec('openhands.server.conversation_manager') is not None


def announce(a):
    for _ in range(3000):
        try:
            call(a, '/health')
            break
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    # Made at its first request, which on a busy machine takes longer than a client waits.
    with contextlib.suppress(OSError):
        call(a, '/openapi.json')
    if a.model_url:
        if serves_v0():
            call(a, '/api/settings', {'language': 'en', 'agent': 'CodeActAgent', 'llm_model': a.model,
                                      'llm_base_url': a.model_url, 'llm_api_key': 'none'})
        else:
            call(a, '/api/v1/settings', {'agent_settings_diff': {
                'llm': {'model': a.model, 'base_url': a.model_url, 'api_key': 'none'}}})
    print(f'ready http://{HERE}:{a.port}', flush=True)


def end(processes):
    for info in list(processes.values()):
        for sig in (signal.SIGCONT, signal.SIGTERM):
            with contextlib.suppress(OSError):
                os.killpg(info.pid, sig)
    deadline = time.monotonic() + 2
    for info in list(processes.values()):
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                os.kill(info.pid, 0)  # an OSError once it has ended
                time.sleep(0.1)
            os.killpg(info.pid, signal.SIGKILL)
    while left := processes_of(os.environ['OH_PERSISTENCE_DIR']):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(os.environ['TMUX_TMPDIR'], ignore_errors=True)


def processes_of(data):
    """Every other process that has the environment of this server. The tmux servers that sandboxes start belong to no
    group of theirs, and the name of their socket differs by release."""
    marker = os.fsencode(f'OH_PERSISTENCE_DIR={data}')
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            if marker in (folder / 'environ').read_bytes().split(b'\0') and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def end_with_stdin(processes):
    with contextlib.suppress(OSError, ValueError):
        while os.read(0, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    # A V0 conversation that waits for its model blocks the loop that would obey.
    time.sleep(10)
    end(processes)
    os._exit(1)


def short_folder(wanted):
    """The path of a socket may have 107 bytes, of which tmux and the folders in between take 41."""
    return wanted if len(os.fsencode(wanted)) <= 66 else '/tmp'


def main():
    a = arguments()
    data = Path(a.data).resolve()
    environment(a, data)
    os.environ['TMUX_TMPDIR'] = tempfile.mkdtemp(prefix='oh-', dir=short_folder(data / 'tmp'))
    os.chdir(data)
    processes = adapt()
    import uvicorn
    app = 'openhands.server.listen:app' if serves_v0() else 'openhands.app_server.app:app'
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    threading.Thread(target=end_with_stdin, args=(processes,), daemon=True).start()
    threading.Thread(target=announce, args=(a,), daemon=True).start()
    try:
        uvicorn.run(app, host=HERE, port=a.port, log_level='info' if a.verbose else 'error',
                    timeout_graceful_shutdown=3)
    finally:
        end(processes)


if __name__ == '__main__':
    main()
