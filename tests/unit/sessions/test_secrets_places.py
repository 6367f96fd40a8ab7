"""A secret is cut out where only its place and its letters tell it, and what is none stays."""

from __future__ import annotations

import json

import pytest

from harness.secrets.detector import Secrets

PASSWORD = "Tr4wlerMoon92"
TOLD = (
    # sentences
    "the password is `%s`", 'username "mira" and password "%s"', "log in with the password %s", "Passwort: %s",
    "Das Passwort lautet %s.", "le mot de passe est %s", "mot de passe : %s", "contraseña: %s", "la senha é %s",
    "het wachtwoord is %s", "пароль: %s", "パスワードは「%s」です", "密码：%s", "비밀번호: %s", "New password: %s",
    "changed the password from hunter22 to %s", "creds: mira / %s", "Logging in as mira:%s",
    "Incorrect API key provided: %s.", "admin password\n%s\n",
    "password\n  too short [type=x, input_value='%s', input_type=str]",
    # tables
    "| user | password |\n|---|---|\n| mira | %s |", "| Service | API key |\n|:--|--:|\n| Maps | `%s` |",
    " id | login | password\n----+-------+----------\n  1 | mira  | %s\n(1 row)", "│ user │ token │\n│ mira │ %s │",
    "email,password,role\nmira@example.com,%s,admin", '"user";"pw"\n"mira";"%s"',
    "USER   PASSWORD   ROLE\nmira   %s  admin",
    "INSERT INTO users (email, password) VALUES ('m@example.com', 'x1y2'), ('j@example.com', '%s');",
    "<td>Password</td> <td>%s</td>", "<key>ApiToken</key>\n<string>%s</string>",
    "apiVersion: v1\ndata:\n  dsn: %s\nkind: Secret\nmetadata:", 'variable "db_password" {\n  default = "%s"\n}',
    # code
    'if password == "%s":', "process.env.JWT_SECRET || '%s'", "password=SecretStr('%s')", 'password: &str = "%s";',
    '#define API_KEY "%s"', 'set_password("%s")', "bcrypt.hash('%s', 10)", 'jwt.encode(payload, "%s")',
    "createHmac('sha256', '%s')", "page.getByLabel('Password').fill('%s')",
    'mysqli_connect("db", "mira", "%s", "harbour")', 'client.setApiKey("%s")', '["password"]=>\n  string(9) "%s"',
    "{Host:db Password:%s Port:5432}", "b'%s' == password",
    # programs
    "setx API_TOKEN %s", "SetEnv DB_PASSWORD %s", "gh secret set X -b%s", "ldapwhoami -D cn=a -w '%s'",
    "vault login %s", "wrangler secret put X <<< '%s'", "echo %s | gpg --batch --passphrase-fd 0",
    "rabbitmqctl add_user mira %s", "ssh-keygen -N '%s' -f k", "sqlplus mira/%s@db", "net user mira %s /add",
    "curl -E client.pem:%s", "tool -u mira -p %s", "aws ssm put-parameter --name x --type SecureString --value %s",
    "a1 LOGIN m@example.com %s", "user on >%s ~* +@all", "USER mira\nPASS %s", "WIFI:T:WPA;S:Harbour;P:%s;;",
    'expect "Password:"\nsend "%s\\r"', "requirepass %s",
    "openssl passwd -6 %s", "caddy hash-password --plaintext %s", "docker exec db psql -u mira -p %s",
    "`password: %s`", 'echo "password: %s" > x.yml', "yes %s | passwd mira", "the secret key is %s",
    # requests
    'form-data; name="password"\r\n\r\n%s\r\n--x', '{"name": "Authorization", "value": "Bearer %s"}',
    "GET /login?password=%s HTTP/1.1", "Authorization: GenieKey %s", "https://example.com/reset-password/%sQxV83Zk",
    # what stands before a line, and colours
    "config.py:12:    password: %s", "12 | password: %s", "\x1b[36mpassword\x1b[0m=\x1b[33m%s\x1b[0m",
)  # fmt: skip
"""Places where only what looks like a password is one."""
PLAIN = (
    "| field | password |\n|---|---|\n| least | 12 characters |", "| test | password |\n|---|---|\n| mira | passed |",
    "name,tokens,cost\nmira,1234,0.5", "NAME   SECRETS   AGE\ndefault   1   30d", "Das Passwort ist falsch.",
    "contraseña: debe tener 12 caracteres", "пароль: не менее 12 символов", "密码长度至少为8位", "clave: valor",
    "The token is refreshed every 300s.", "The password is stored in 1Password.", "use the token endpoint for v2",
    "Password - required", "API key (required): see the docs", "The secret is mounted at /run/secrets/db.",
    "mysql -u root -p harbour", "docker compose -p harbour up -d", "docker exec -u root:root web id", "curl -u mira x",
    'echo "$PASSWORD" | docker login --password-stdin', "nmcli dev wifi list", "net use Z: \\\\host\\share",
    'if token.type == "string":', "assert password == confirm_password", "jwt.encode(payload, SECRET_KEY)",
    'auth=("user", "pass")', 'connect("db", "harbour")', "page.fill('#password', password)", "token: TokenV2",
    "INSERT INTO users (email, password) VALUES ($1, $2)", "kind: Secret\nmetadata:\n  name: harbour-db",
    'variable "db_password" {\n  type = string\n}', "password = random_password.db.result", "pass to `check_X`",
    "--token-color: #1f2e3d;", "arn:aws:secretsmanager:us-east-1:1234:secret:prod/db-AbCdEf",
    "PASS: TestHarbour2 (0.02s)", 'password: {{ .Values.password | quote }}', "kernel_map[params_sig] = kernel_id",
    "#define X_PASSWORD 0xBA", "12 lines of code: 1234", "The code is 12 lines long.", "GPIO pin: 17",
    "https://example.com/invite/team", 'click.option("--password", prompt=True)', "docker run -u 1000:1000 img",
    '"node_modules/js-tokens": {"integrity": "sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9b=="}',
    'PASSWORD_KEY = "password2"', "PASS\nok  \texample.com/auth\t0.012s",
    "low_pass_deg=ildeg", "echo hello | passwd-gen", "Your code is 1234 lines long", "update the password field2",
    '#define OSSL_PARAM_MAC_KEY "mackey"', "| User | Password changed |\n|---|---|\n| mira | 2026-01-02 |",
)  # fmt: skip
MARGINS = ("    12→", "    12\t", "12 | ", "12: ", "src/app.env:12:", "+", "> ", "    ")
"""What stands before a line of a listing, a search, a patch, a quotation and a block."""
BROKEN = ("\\u{d800}", "\\ud83d", "&#xDC00;")
"""What says half of a character."""


def redact(text: str) -> str:
    found = Secrets()
    found.learn(text)
    return found.redact(text)


@pytest.mark.parametrize("place", TOLD)
def test_a_secret_is_known_by_its_place_and_its_letters(place: str) -> None:
    said = place.replace("%s", PASSWORD)
    for text in (said, json.dumps({"command": said})):
        assert PASSWORD not in redact(text), text


@pytest.mark.parametrize("margin", MARGINS)
def test_a_listing_hides_no_secret_of_several_lines(margin: str) -> None:
    table = "user | password\n-----+-----\nmira | tidewater"
    entry = "env:\n- name: DB_PASSWORD\n  value: tidewater"
    for said in (table, entry, "users:\n  password: tidewater"):
        listed = "\n".join(margin + line for line in said.split("\n"))
        for text in (listed, listed.replace("\n", "\r\n"), json.dumps({"content": listed})):
            assert "tidewater" not in redact(text), text


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_stands_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text and redact(f"{text}\n{text}\n") == f"{text}\n{text}\n"


@pytest.mark.parametrize("half", BROKEN)
def test_half_of_a_character_hides_no_secret(half: str) -> None:
    assert redact(f'"{half}" password: {PASSWORD}') == f'"{half}" password: {{canary:secret-1}}'
