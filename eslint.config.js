import sonarjs from 'eslint-plugin-sonarjs';
import tseslint from 'typescript-eslint';

/**
 * A length, and no position that was found: above the digits of digests and times, a constant, or
 * such a name.
 */
const LENGTH =
  /^-?(?:[4-9]\d|[\d_]{3,}|Math\.min\(.*\)|(?:[A-Z][A-Z_]+|(?:this\.)?#?(?:most|max|keep|limit)\w*)(?:\.\w+)?)$/;
const rawCut = {
  meta: {
    type: 'problem',
    messages: { cut: 'Half of a surrogate pair may stay: use cut() or shortened().' },
  },
  create: (context) => ({
    'CallExpression[callee.property.name=/^(slice|substring|substr)$/]'({
      callee,
      arguments: given,
    }) {
      const [from = '', to = ''] = given.map((node) => context.sourceCode.getText(node));
      if (!LENGTH.test(from === '0' ? to : from)) return;
      const { program, getTypeAtLocation } = context.sourceCode.parserServices;
      const type = program.getTypeChecker().getNonNullableType(getTypeAtLocation(callee.object));
      if (type.isStringLiteral() || type.intrinsicName === 'string')
        context.report({ node: callee, messageId: 'cut' });
    },
  }),
};

// Type-aware: a promise that nobody awaits is a command that ends before its work.
export default tseslint.config(
  { ignores: ['dist/', 'dist.*/', 'coverage/', 'node_modules/', 'test/fixtures/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  ...tseslint.configs.recommended,
  {
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
    },
  },
  {
    // Whatever comes from outside is unknown until it was looked at. (Tests read what they just
    // made.)
    files: ['src/**/*.ts'],
    ignores: ['src/base/text/well-formed.ts'],
    plugins: { acs: { rules: { 'raw-cut': rawCut } } },
    rules: { 'acs/raw-cut': 'error' },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'error',
      '@typescript-eslint/no-unsafe-assignment': 'error',
      '@typescript-eslint/no-unsafe-call': 'error',
      '@typescript-eslint/no-unsafe-member-access': 'error',
      '@typescript-eslint/no-unsafe-return': 'error',
    },
  },
  {
    // What a reader holds in mind at once. Cognitive complexity counts nesting, and not `??`, `?.`
    // and default values, which a flat mapper has one of for each member.
    files: ['src/**/*.ts'],
    plugins: { sonarjs },
    rules: {
      'max-depth': ['error', 3],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      'no-nested-ternary': 'error',
      'sonarjs/cognitive-complexity': ['error', 15],
    },
  },
  {
    // A test is a list of behaviours that all run, and nothing replaces a module of ours while it
    // does.
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'MemberExpression[object.name=/^(describe|it|test)$/][property.name=/^(skip|only|todo)$/]',
          message: 'Every test runs: fix it or remove it.',
        },
        {
          selector:
            'MemberExpression[object.name="vi"][property.name=/^(mock|doMock|spyOn|stubGlobal)$/]',
          message: 'Use the real thing, or what the context hands over.',
        },
      ],
    },
  },
  {
    files: ['**/*.cjs'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
);
