/** What a client learns before it has a key (interface section 9). */
import { json } from '../../../http/request.ts';
import { PROVIDER_HOSTS } from '../../repositories/repository.ts';
import type { Route } from '../../route.ts';

export function webClientRoutes(): Route[] {
  return [{ method: 'GET', path: '/api/v1/web-client/config', isOpen: true, handle: () => json(CONFIG) }];
}

const CONFIG = {
  app_mode: 'oss',
  posthog_client_key: null,
  feature_flags: {
    enable_billing: false,
    hide_llm_settings: false,
    enable_jira: false,
    enable_jira_dc: false,
    enable_linear: false,
    hide_users_page: true,
    hide_billing_page: true,
    hide_integrations_page: true,
    hide_personal_workspaces: false,
    allow_user_llm_configuration: true,
    enable_acp: false,
    deployment_mode: null,
    enable_onboarding: false,
    enable_automations: false,
  },
  providers_configured: [],
  maintenance_start_time: null,
  auth_url: null,
  recaptcha_site_key: null,
  faulty_models: [],
  error_message: null,
  updated_at: '2026-01-01T00:00:00Z',
  github_app_slug: null,
  gitlab_enabled: false,
  provider_default_hosts: PROVIDER_HOSTS,
  slack_enabled: false,
  email_enabled: false,
  acp_providers: [],
  jira_dc_oauth_host: null,
  jira_dc_service_account_managed: false,
  jira_dc_service_account_email: null,
  jira_dc_service_account_config_error: null,
  kind: 'WebClientConfig',
};
