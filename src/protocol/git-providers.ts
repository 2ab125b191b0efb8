// prettier-ignore
export const GIT_PROVIDERS = [
  'github', 'gitlab', 'bitbucket', 'bitbucket_data_center', 'forgejo', 'azure_devops',
  'enterprise_sso',
] as const;
