//! One sample of each kind of credential, and similar text that is not one. The samples are assembled at run time, so
//! that no scanner reports this file.

use super::*;

/// Fills a template with random text: `{a24}` becomes 24 letters and digits, `l` small letters, `u` capitals and
/// digits, `h` hexadecimal digits, `d` digits, `b` base 64. `~` only separates prefixes in this file and is removed;
/// `^` stands for a `~`.
fn sample(template: &str) -> String {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(state >> 16).unwrap()
    };
    let mut text = String::new();
    let mut parts = template.split('{');
    text.push_str(parts.next().unwrap());
    for part in parts {
        let slot = part.split_once('}').and_then(|(of, rest)| {
            let (kind, length) = of.split_at_checked(1)?;
            Some((kind, length.parse::<usize>().ok()?, rest))
        });
        let Some((kind, length, rest)) = slot else {
            text.push('{');
            text.push_str(part);
            continue;
        };
        let letters: &[u8] = match kind {
            "a" => b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789",
            "l" => b"abcdefghijklmnopqrstuvwxyz",
            "u" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "h" => b"0123456789abcdef",
            "d" => b"1234567890",
            "b" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            _ => panic!("{kind}"),
        };
        text.extend((0..length).map(|_| char::from(letters[next() % letters.len()])));
        text.push_str(rest);
    }
    text.replace('~', "").replace('^', "~")
}

/// Kind, credential, and similar text that is not one. A `|` separates a credential from the name before it.
const KINDS: &[(&str, &str, &str)] = &[
    ("GitHub, personal", "gh~p_{a36}", "ghp_token"),
    ("GitHub, fine-grained", "github_~pat_{a22}_{a59}", "github_pat_name"),
    ("GitHub, App", "gh~s_{a36}", "ghs_x"),
    ("GitLab, personal", "glpat~-{a20}", "glpat-name"),
    ("GitLab, runner", "glrt~-{a20}", "glrt-name"),
    ("GitLab, deploy", "gldt~-{a20}", "gldt-name"),
    ("AWS, key", "AK~IA{u16}", "AKIA"),
    (
        "AWS, secret in an environment",
        "AWS_SECRET_ACCESS_KEY=|{b40}",
        "AWS_SECRET_ACCESS_KEY=",
    ),
    (
        "AWS, secret in a file",
        "aws_secret_access_key = |{b40}",
        "aws_secret_access_key = key",
    ),
    (
        "AWS, secret in JSON",
        "\"SecretAccessKey\": \"|{b40}",
        "\"SecretAccessKey\": null",
    ),
    ("Stripe", "sk_~live_{a24}", "sk_live_key"),
    ("Stripe, restricted", "rk_~live_{a24}", "rk_live_key"),
    ("Stripe, hook", "whsec~_{a32}", "whsec_name"),
    ("Google, API", "AI~zaSy{a33}", "AIza"),
    ("Google, OAuth", "GOC~SPX-{a28}", "GOCSPX-"),
    (
        "Google, service account",
        "\"private_key\": \"|-----BEGIN PRIVATE~ KEY-----\\n{b64}\\n{b64}\\n-----END PRIVATE~ KEY-----",
        "\"private_key\": null",
    ),
    ("Hugging Face", "hf~_{a34}", "hf_model_name"),
    ("Docker", "dckr~_pat_{a27}", "dckr_pat_name"),
    ("Slack, bot", "xox~b-{d12}-{d13}-{a24}", "xoxb-name"),
    ("Slack, app", "xa~pp-1-{u11}-{d13}-{h64}", "xapp-1"),
    (
        "Slack, hook",
        "https://hooks.sla~ck.com/services/T{u10}/B{u10}/{a24}",
        "hooks.slack.com/services",
    ),
    ("DigitalOcean", "dop~_v1_{h64}", "dop_v1_name"),
    (
        "Azure, account",
        "AccountName=x;AccountKey=|{b86}==;EndpointSuffix=core",
        "AccountKey=name",
    ),
    ("Azure, signature", "?sv=2024-11-04&sig=|{b43}%3D&se=x", "?sig=short"),
    ("Azure, client", "x{a2}8Q^{a34}", "8Q"),
    ("SendGrid", "S~G.{a22}.{a43}", "SG.name.other"),
    ("Doppler", "dp~.pt.{a43}", "dp.pt.name"),
    ("Vault", "hv~s.{a95}", "hvs.name"),
    ("npm", "npm~_{a36}", "npm_config_registry"),
    ("PyPI", "py~pi-AgEIcHlwaS5vcmc{a70}", "pypi-server"),
    ("crates.io", "ci~o{a32}", "cio"),
    ("OpenAI", "sk~-proj-{a48}", "sk-learn"),
    ("Anthropic", "sk-~ant-api03-{a93}AA", "sk-ant"),
    ("Twilio", "S~K{h32}", "SK0123"),
    ("Twilio, token", "TWILIO_AUTH_TOKEN=|{h32}", "TWILIO_AUTH_TOKEN=name"),
    ("Mailgun", "ke~y-{h32}", "key-value"),
    ("Telegram", "{d10}:A~A{a33}", "12:AA"),
    (
        "Discord, hook",
        "https://discord~.com/api/webhooks/{d18}/{a68}",
        "https://discord.com/api/webhooks/1/x",
    ),
    ("Shopify", "shp~at_{h32}", "shpat_name"),
    ("Square", "sq0~csp-{a43}", "sq0csp-name"),
    ("Heroku", "HRK~U-AA{a58}", "HRKU-name"),
    (
        "Heroku, by name",
        "HEROKU_API_KEY=|{h8}-{h4}-{h4}-{h4}-{h12}",
        "HEROKU_API_KEY=name",
    ),
    ("Databricks", "dap~i{h32}", "dapi"),
    ("Linear", "lin~_api_{a40}", "lin_api_name"),
    ("Atlassian", "ATA~TT3{a186}", "ATATT3"),
    ("New Relic", "NR~AK-{u27}", "NRAK-name"),
    ("Grafana", "gl~sa_{a32}_{h8}", "glsa_name"),
    ("Sentry", "sntr~yu_{h64}", "sntryu_name"),
    ("Sentry, organization", "sntr~ys_{b80}_{a43}", "sntrys_name"),
    ("Terraform Cloud", "{a14}.atlas~v1.{a64}", "x.atlasv1.y"),
    ("Datadog", "DATADOG_API_KEY: |{h40}", "DATADOG_API_KEY: name"),
    ("Cloudflare", "CLOUDFLARE_API_TOKEN=|{a40}", "CLOUDFLARE_API_TOKEN=name"),
    (
        "age",
        "AGE-SECRET-~KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE",
        "AGE-SECRET-KEY-1",
    ),
    (
        "JSON Web Token",
        "ey~JhbGciOiJIUzI1NiJ9.eyJ{a40}.{a43}",
        "eyJhbGciOiJIUzI1NiJ9",
    ),
    (
        "PEM",
        "-----BEGIN RSA PRIVATE~ KEY-----\n{b64}\n-----END RSA PRIVATE~ KEY-----",
        "PRIVATE KEY",
    ),
    (
        "OpenPGP",
        "-----BEGIN PGP PRIVATE~ KEY BLOCK-----\n{b64}\n-----END PGP PRIVATE~ KEY BLOCK-----",
        "KEY BLOCK",
    ),
    (
        "URL",
        "postgres|://user:{a12}@example.org/db",
        "https://example.org:443/x",
    ),
    (
        "URL without a name",
        "redis|://:{a12}@example.org/0",
        "redis://example.org/0",
    ),
    (
        "curl",
        "curl -sS -u admin:|{a12} https://example.org",
        "curl -u admin https://example.org",
    ),
    ("header", "Authorization: Bearer {a24}", "authorization: none"),
    ("password", "password = \"|{a16}", "password = get_password()"),
    ("password in YAML", "db_password: |{a16}", "db_password: string"),
    (
        "token in a URL",
        "https://example.org/?token=|{a24}",
        "https://example.org/?token=name",
    ),
    ("key in JSON", "\"api_key\": \"|{a32}", "\"api_key\": true"),
];

#[test]
fn a_credential_of_each_kind_is_taken_out() {
    for (kind, credential, _) in KINDS {
        let credential = sample(credential);
        let secret = credential
            .split_once('|')
            .map_or(credential.as_str(), |(_, secret)| secret);
        let secret = secret.split(['&', ';', ' ']).next().unwrap();
        let whole = credential.replacen('|', "", 1);
        let (from, to) = secret.split_at(secret.len() / 2);
        // In prose, in code, in a list, and at the end of a text.
        for (before, after) in [
            ("it said ", " and left"),
            ("f(\"", "\");"),
            ("- ", "\n- b"),
            ("(", "), ‘"),
            ("", ""),
        ] {
            let shown = redact(&format!("{before}{whole}{after}"));
            let said = format!("{kind}: {before}{whole}{after} became {shown}");
            assert!(shown.contains("[redacted]"), "{said}");
            assert!(!shown.contains(from) && !shown.contains(to), "{said}");
            assert!(shown.starts_with(before) && shown.ends_with(after), "{said}");
        }
    }
}

/// Text that a repair or a review must show unchanged.
#[test]
fn what_only_looks_like_a_credential_stays() {
    for (kind, _, harmless) in KINDS {
        assert_eq!(redact(harmless), *harmless, "{kind}");
    }
    for harmless in [
        "commit {h40}",
        "Merge {h40} into {h40}",
        "sha256:{h64}",
        "{h8}-{h4}-{h4}-{h4}-{h12}",
        "\"integrity\": \"sha512-{b86}==\",",
        "checksum = \"{h64}\"",
        "github.com/x/y v1.2.3 h1:{b43}=",
        "requests==2.32.3 --hash=sha256:{h64}",
        "\"sentry-sdk\": { \"hashes\": [\"sha256:{h64}\"] }",
        "<img src=\"data:image/png;base64,iVBORw0KGgo{b200}\">",
        "+    let token = self.next_token(previous_token)?;",
        "-  password: string;",
        "fn token(&self) -> Token2 { self.token.clone() }",
        "const token = await getToken(request, secretName);",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "SECRET_KEY = os.environ[\"SECRET_KEY\"]",
        "assert token == expected_token_1",
        "secret=settings.SECRET_VALUE_FOR_TESTS",
        "!function(e,t){for(var n=s.getOwnPropertyNames(e),r=0;r<n.length;r++)t[n[r]]=e[n[r]]}(a.b,c.d);",
        "test_tokens.py::test_password[admin-secret] FAILED",
        "error[E0308]: expected `Token`, found `Secret<String>`",
        "https://github.com/x/y/commit/{h40}",
    ] {
        let text = sample(harmless);
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn the_end_of_a_long_token_goes_with_it() {
    let token = sample("fm2~_{a5000}");
    assert_eq!(redact(&format!("a {token} b")), "a [redacted] b");
}

#[test]
fn credentials_are_taken_out() {
    for secret in [
        "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
        "ghs_123456_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "https://user:hunter22@example.com/x",
        "Authorization: Bearer abcdefghijkl",
    ] {
        let shown = redact(&format!("before {secret} after"));
        assert!(shown.contains(REDACTED), "{secret}");
        assert!(
            !shown.contains("hunter22") && !shown.contains("MIIE") && !shown.contains("abcdefghijkl"),
            "{shown}"
        );
    }
    assert_eq!(redact("sk-1 ghs_x AKIA"), "sk-1 ghs_x AKIA");
}

/// Each of the tokens that begin here continues to the end. Scanning to the end for every one of them took minutes.
#[test]
fn beginnings_of_credentials_are_walked_over_once() {
    for piece in ["eyJaaaaaaaa-AKIA0123456789012345-", "ghs_-AKIA0123456789012345.é"] {
        let text = piece.repeat(1_000_000 / piece.len());
        let shown = redact(&text);
        assert!(!shown.contains("AKIA"));
        assert_eq!(credentials(&text).count(), text.matches("AKIA").count());
    }
}
