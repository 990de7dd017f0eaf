import Foundation
import TestSupport
import Testing

/// A request with one mistake, and the statuses that report it.
struct BadInput: Sendable, CustomTestStringConvertible {
    /// The sender of the request.
    enum Sender: Sendable {
        case nobody
        case owner
        case newGoogleAccount
        case newFacebookAccount
    }

    var testDescription: String
    var sender: Sender
    var method: String
    var path: String
    /// Names and encoded values, with placeholders such as `{group}`.
    var query: [(name: String, value: String)]
    /// Replaces (or, if nil, removes) a header of the sender.
    var headers: [String: String?] = [:]
    var body: [UInt8]?
    var statuses: [Int]
}

/// An endpoint and a valid request to it.
struct GoodRequest: Sendable {
    let method: String
    let name: String
    let sender: BadInput.Sender
    let query: [(name: String, value: String)]
    /// Names of the required parameters.
    let required: [String]

    /// Returns an invalid variant.
    func bad(
        _ what: String, query: [(name: String, value: String)]? = nil, headers: [String: String?] = [:],
        _ statuses: Int...
    ) -> BadInput {
        BadInput(
            testDescription: "\(name): \(what)", sender: sender, method: method, path: "/\(name)/",
            query: query ?? self.query, headers: headers,
            body: name == "UploadFile" ? TestFile().contents : nil, statuses: statuses)
    }

    /// Returns the parameters with one of them replaced or added.
    func replacing(_ name: String, _ value: String) -> [(name: String, value: String)] {
        (query.filter { $0.name != name } + [(name, value)]).sorted { $0.name < $1.name }
    }

    static let all: [GoodRequest] = [
        GoodRequest(method: "GET", name: "HealthCheck", sender: .nobody, query: [], required: []),
        GoodRequest(method: "GET", name: "CheckCreds", sender: .owner, query: [], required: []),
        GoodRequest(
            method: "POST", name: "AddUser", sender: .newGoogleAccount,
            query: [("cloudFolderName", "F"), ("sharingGroupUUID", "{new}")],
            required: ["cloudFolderName", "sharingGroupUUID"]),
        GoodRequest(
            method: "GET", name: "Index", sender: .owner, query: [("sharingGroupUUID", "{group}")], required: []),
        upload,
        GoodRequest(
            method: "GET", name: "GetUploads", sender: .owner, query: [("sharingGroupUUID", "{group}")],
            required: ["sharingGroupUUID"]),
        GoodRequest(
            method: "POST", name: "DoneUploads", sender: .owner,
            query: [("masterVersion", "0"), ("sharingGroupUUID", "{group}")],
            required: ["masterVersion", "sharingGroupUUID"]),
        GoodRequest(
            method: "GET", name: "DownloadFile", sender: .owner,
            query: [
                ("fileUUID", "{new}"), ("fileVersion", "0"), ("masterVersion", "0"), ("sharingGroupUUID", "{group}"),
            ],
            required: ["fileUUID", "fileVersion", "masterVersion", "sharingGroupUUID"]),
        GoodRequest(
            method: "POST", name: "CreateSharingInvitation", sender: .owner,
            query: [("permission", "read"), ("sharingGroupUUID", "{group}")],
            required: ["permission", "sharingGroupUUID"]),
        GoodRequest(
            method: "GET", name: "GetSharingInvitationInfo", sender: .nobody,
            query: [("sharingInvitationUUID", "{invitation}")], required: ["sharingInvitationUUID"]),
        GoodRequest(
            method: "POST", name: "RedeemSharingInvitation", sender: .newFacebookAccount,
            query: [("sharingInvitationUUID", "{invitation}")], required: ["sharingInvitationUUID"]),
    ]

    static let upload = GoodRequest(
        method: "POST", name: "UploadFile", sender: .owner,
        query: [
            ("checkSum", TestFile().checkSum), ("fileUUID", "{new}"), ("fileVersion", "0"), ("masterVersion", "0"),
            ("mimeType", "text%2Fplain"), ("sharingGroupUUID", "{group}"),
        ],
        required: ["checkSum", "fileUUID", "fileVersion", "masterVersion", "mimeType", "sharingGroupUUID"])

    static func named(_ name: String) -> GoodRequest { all.first { $0.name == name } ?? upload }
}

extension BadInput {
    static let all: [BadInput] =
        missing + empty + repeated + numbers + identifiers + words + encodings + tooLong + methods + paths + headers

    static let missing = GoodRequest.all.flatMap { good in
        good.required.map { name in
            good.bad("\(name) missing", query: good.query.filter { $0.name != name }, 400)
        }
    }

    static let empty = GoodRequest.all.flatMap { good in
        good.required.map { name in good.bad("\(name) empty", query: good.replacing(name, ""), 400) }
    }

    static let repeated = GoodRequest.all.filter { $0.name != "AddUser" }.flatMap { good in
        good.query.map { name, value in
            let other = value == "0" ? "1" : value
            return good.bad("\(name) repeated", query: (good.query + [(name, other)]).sorted { $0.name < $1.name }, 400)
        }
    }

    static let numbers = [
        ("UploadFile", "masterVersion"), ("UploadFile", "fileVersion"), ("DoneUploads", "masterVersion"),
        ("DownloadFile", "masterVersion"), ("DownloadFile", "fileVersion"), ("DownloadFile", "appMetaDataVersion"),
        ("CreateSharingInvitation", "numberOfAcceptors"),
    ].flatMap { endpoint, name in
        ["abc", "1.5", "0x10", "1e3", "%201", "1%20", "99999999999999999999", "%D9%A1", "--1", "0%00"].map { value in
            let good = GoodRequest.named(endpoint)
            return good.bad("\(name)=\(value)", query: good.replacing(name, value), 400)
        }
    }

    static let identifiers: [BadInput] =
        [
            ("UploadFile", "fileUUID"), ("UploadFile", "sharingGroupUUID"), ("DownloadFile", "fileUUID"),
            ("GetUploads", "sharingGroupUUID"), ("GetSharingInvitationInfo", "sharingInvitationUUID"),
        ].flatMap { endpoint, name in
            [
                "foobar", "12345678123412341234123456789012", "{new}0", "%7B{new}%7D", "{new}%20", "{new}%00",
                "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", "..%2F..%2F..%2Fetc%2Fpasswd", "%27%20OR%201=1%20--%20",
            ].map { value in
                let good = GoodRequest.named(endpoint)
                return good.bad("\(name)=\(value)", query: good.replacing(name, value), 400)
            }
        }
        + ["Index", "DoneUploads", "DownloadFile", "CreateSharingInvitation"].flatMap { endpoint in
            let good = GoodRequest.named(endpoint)
            let missing = endpoint == "Index" ? 404 : 410
            return [
                good.bad("group of 37 characters", query: good.replacing("sharingGroupUUID", "{group}0"), 400),
                good.bad(
                    "malformed group", query: good.replacing("sharingGroupUUID", "%27%20OR%20%271%27=%271"), missing),
                good.bad("unknown group", query: good.replacing("sharingGroupUUID", "{new}"), missing),
            ]
        }

    static let words: [BadInput] =
        ["2", "-1", "yes", "on", "", "%00", "truefalse"].map { value in
            GoodRequest.upload.bad(
                "undeleteServerFile=\(value)", query: GoodRequest.upload.replacing("undeleteServerFile", value), 400)
        }
        + ["2", "maybe", "", "null"].map { value in
            let good = GoodRequest.named("CreateSharingInvitation")
            return good.bad(
                "allowSocialAcceptance=\(value)", query: good.replacing("allowSocialAcceptance", value), 400)
        }
        + ["owner", "Read", "READ", "read%20", "readwrite", "%C3%A9"].map { value in
            let good = GoodRequest.named("CreateSharingInvitation")
            return good.bad("permission=\(value)", query: good.replacing("permission", value), 400)
        }
        + ["text", "text%2Fhtml", "unknown", "Text%2FPlain", "text%2Fplain;charset=utf-8", "..%2F.."].map { value in
            GoodRequest.upload.bad("mimeType=\(value)", query: GoodRequest.upload.replacing("mimeType", value), 400)
        }
        + ["-1", "2147483648"].map { value in
            GoodRequest.upload.bad(
                "fileVersion=\(value)", query: GoodRequest.upload.replacing("fileVersion", value), 400)
        }
        + ["0", "11", "-1", "4294967297"].map { value in
            let good = GoodRequest.named("CreateSharingInvitation")
            return good.bad("numberOfAcceptors=\(value)", query: good.replacing("numberOfAcceptors", value), 400)
        }

    static let encodings = [
        ("Index", "sharingGroupUUID"), ("DoneUploads", "sharingGroupName"), ("AddUser", "sharingGroupName"),
        ("UploadFile", "mimeType"), ("UploadFile", "appMetaData"),
    ].flatMap { endpoint, name in
        ["%zz", "%4", "%", "%FF", "%C3%28", "%ED%A0%80", "%C0%80"].map { value in
            let good = GoodRequest.named(endpoint)
            return good.bad("\(name)=\(value)", query: good.replacing(name, "a" + value), 400)
        }
    }

    static let tooLong: [BadInput] =
        [
            ("AddUser", "sharingGroupName", 256), ("AddUser", "cloudFolderName", 257),
            ("AddUser", "sharingGroupUUID", 37),
            ("DoneUploads", "sharingGroupName", 256), ("UploadFile", "fileGroupUUID", 37),
            ("RedeemSharingInvitation", "sharingInvitationUUID", 37),
        ].map { endpoint, name, count in
            let good = GoodRequest.named(endpoint)
            return good.bad(
                "\(name) of \(count) characters", query: good.replacing(name, String(repeating: "a", count: count)), 400
            )
        }
        + ["HealthCheck", "Index", "UploadFile", "DoneUploads", "GetSharingInvitationInfo"].flatMap { endpoint in
            [61_000, 70_000, 200_000].map { count in
                let good = GoodRequest.named(endpoint)
                return good.bad(
                    "\(count) bytes of query", query: good.replacing("zz", String(repeating: "x", count: count)), 414)
            }
        }

    static let methods = GoodRequest.all.flatMap { good in
        ["GET", "POST", "PUT", "DELETE", "PATCH"].filter { $0 != good.method }.map { method in
            var input = good.bad("method \(method)", 405)
            input.method = method
            input.body = nil
            return input
        }
    }

    static let paths = [
        "/index/", "/INDEX/", "/Index/extra", "/Index.html", "/Index%00/", "/Uploadfile/", "/Index/../Nowhere/",
        "/Index%20/", "/%2e%2e/", "/.git/config", "/sandbox/accounts", "/CheckPrimaryCreds/", "/api/Index/",
        "/%F0%9F%90%B1/",
    ].map { path in
        BadInput(
            testDescription: "path \(path)", sender: .owner, method: "GET", path: path, query: [],
            statuses: path.contains("%00") || path.contains("%2e") ? [400, 404] : [404])
    }

    static let headers: [BadInput] = ["CheckCreds", "Index", "UploadFile", "DoneUploads"].flatMap { endpoint in
        let good = GoodRequest.named(endpoint)
        return [
            good.bad("no device", headers: ["SyncServer-Device-UUID": nil], 400),
            good.bad("a malformed device", headers: ["SyncServer-Device-UUID": "my phone"], 400),
            good.bad("a long device UUID", headers: ["SyncServer-Device-UUID": UUID().uuidString + "0"], 400),
            good.bad("no token", headers: ["access_token": nil], 401),
            good.bad("an empty token", headers: ["access_token": ""], 401),
            good.bad("a token with unusual bytes", headers: ["access_token": "é\t\"';--"], 401),
            good.bad("no token type", headers: ["X-token-type": nil], 401),
            good.bad("a malformed token type", headers: ["X-token-type": "GoogleToken, FacebookToken"], 401),
            good.bad("a very long token", headers: ["access_token": String(repeating: "t", count: 20_000)], 401),
            good.bad("oversized headers", headers: ["access_token": String(repeating: "t", count: 70_000)], 400, 414),
        ]
    }
}
