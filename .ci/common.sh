# Sourced by the scripts of this folder: where tools are installed, and DynamoDB Local.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools="$PWD/target/tools"
export PATH="$tools/venv/bin:$PATH"
mkdir -p "$tools"

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

emulator="$tools/package/emulator"
install_dynamodb_local() {
  [ -f "$emulator/DynamoDBLocal.jar" ] ||
    (cd "$tools" && npm pack --silent amplify-dynamodb-simulator@2.9.30 >/dev/null && tar xzf amplify-dynamodb-simulator-2.9.30.tgz)
}

# Starts an empty DynamoDB Local on $store.
store=http://127.0.0.1:8223
database=
trap '[ -z "$database" ] || kill "$database" 2>/dev/null || true' EXIT
start_database() {
  (cd "$tools" && exec java -Djava.library.path="$emulator/DynamoDBLocal_lib" -jar "$emulator/DynamoDBLocal.jar" \
    -inMemory -port "${store##*:}" >"$tools/dynamodb-local.log" 2>&1) &
  database=$!
  for _ in $(seq 100); do
    if (: >"/dev/tcp/127.0.0.1/${store##*:}") 2>/dev/null; then return; fi
    kill -0 "$database"
    sleep 0.2
  done
}
stop_database() {
  kill "$database"
  wait "$database" || true
  database=
}

# A Python environment with one package: install_python NAME PACKAGE...
install_python() {
  local name="$1"
  shift
  if [ "$(cat "$tools/$name/installed.txt" 2>/dev/null)" != "$*" ]; then
    python3 -m venv "$tools/$name"
    "$tools/$name/bin/pip" install --quiet "$@"
    printf '%s\n' "$*" >"$tools/$name/installed.txt"
  fi
}
