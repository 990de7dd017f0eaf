import Foundation
import HTTPTransport
import MariaDB
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@testable import SyncService

@Suite("Errors on the wire")
struct RefusalTests {
    private struct Unknown: Error {}

    /// One error of every kind that can reach the router.
    private static let samples: [any Error] = {
        let codes: [ErrorCode] = [
            .missingParameter, .parameterOutOfRange, .missingHeader, .unknownMimeType, .bodyLengthMismatch,
            .lengthRequired, .checksumMismatch, .transferTooSlow, .tooManyTransfers, .tooManySimultaneousRequests,
            .credentialsMissing, .signInTypeNotAllowed, .userUnknown, .storageAccountRequired, .staleEpoch,
            .endpointUnknown, .grantInvalid, .freshSignInRequired, .undoExpired, .oldAccountProofRequired,
            .accountInUse, .switchConfirmed, .switchUnknown, .reuploadByOwnerOnly, .contentMismatch, .fileUnknown,
            .appMetaDataUnknown, .groupUnknown, .invitationUnknown, .invitationGone, .permissionTooLow, .groupExists,
            .userExists, .owningAccountRequired, .alreadyMember, .ownerMissing, .pushNotConfigured, .tooManyDevices,
            .fileVersionMismatch, .appMetaDataVersionMismatch, .mimeTypeChanged, .fileDeleted, .fileNotDeleted,
            .fileInOtherGroup, .uploadConflict, .uploadUnknown, .uploadNotResumable, .mediaTypeUnsupported,
            .pieceTooSmall, .pieceChecksumMismatch, .protocolVersionUnsupported, .notAMember, .ownerRemoved,
            .maintenance, .restoring, .memberUnknown, .commitIdReused, .batchMismatch, .lastAdmin,
        ]
        let detailed: [Refusal] = [
            .missingHeader(.deviceUUID), .malformedHeader(.uploadChecksum), .directionFull,
            .bodyTooLarge(maximumBytes: 5), .methodNotAllowed(allowed: "GET"), .rangeNotSatisfiable(length: 1),
            .uploadOffsetMismatch(current: 1), .accountRetired(by: .google),
            .grantTooYoung(usableFrom: .latest, in: .seconds(60)),
            .switchInProgress(AccountSwitchID(someFile().rawValue)!),
            Refusal(.tooManyFailedSignIns, retryAfter: .seconds(3)),
        ]
        let quotas = Quota.allCases.map { Refusal.quotaReached($0, retryAfter: $0.isHourly ? .seconds(60) : nil) }
        let refusals = codes.map { Refusal($0) } + detailed + quotas
        let request: [RequestError] = [
            .missing(.fileUUID), .repeated(.fileUUID), .malformed(.fileUUID, expected: .uuid),
            .outOfRange(.numberOfAcceptors, allowed: 1...10), .tooLong(.sharingGroupName, maximumCharacters: 255),
            .tooLarge(.appMetaData, maximumBytes: 65_535), .brokenEscape, .invalidUTF8, .queryTooLong(maximumBytes: 9),
        ]
        let account: [AccountError] = [
            .rejected, .codeRejected, .scopeMissing, .revoked, .unavailable(detail: "s3cret"), .timedOut,
            .misconfigured(detail: "s3cret"), .withheld(.busy), .storageMissing(detail: "s3cret"),
            .malformedDetails("must be JSON"), .serverNotAllowed, .anyPasswordAccepted,
            .withheld(.paused(retryAfter: .seconds(7))),
            .notAsked(retryAfter: .seconds(7), detail: "s3cret"),
            .keyRejected("the secret is wrong"), .rightMissing("the key may not write"),
            .addressDoubtful(.notAsked(retryAfter: .seconds(7), detail: "s3cret")),
            .storageUnusable(.readOnly), .storageUnusable(.full), .storageUnusable(.termsNotAccepted),
        ]
        let push: [PushError] = [
            .gone(since: nil), .rateLimited(retryAfter: nil), .unavailable(detail: "s3cret"), .timedOut,
            .doubtful(detail: "s3cret"),
            .misconfigured(detail: "s3cret"), .rejected(detail: "s3cret"),
        ]
        let cloud: [CloudStorageError] = [
            .notFound, .authorizationRevoked, .quotaExceeded, .rateLimited(retryAfter: nil),
            .unavailable(detail: "s3cret"), .timedOut, .contentMismatch, .rejected(code: "s3cret"),
            .misconfigured(detail: "s3cret"),
            .contentFailed(Refusal(.checksumMismatch)), .downloadCancelled, .localFailure(StoreError.busy),
            .withheld(.circuitOpen(retryAfter: .seconds(7))), .termsNotAccepted,
        ]
        let database = MariaDBError.programming(code: 1064, message: "s3cret")
        let store: [StoreError] = [
            .unavailable(database), .busy, .contention(database), .alreadyExists(key: "s3cret"), .notFound,
            .corrupt(table: "s3cret", column: "s3cret"), .defect(database),
            .denied(.accessDenied(code: 1142, message: "s3cret")),
        ]
        let commits: [CommitRefusal] = [.outdated(someFile()), .belongsElsewhere(someFile()), .ownerGone]
        let switches: [SwitchRefusal] = [
            .unknown, .staleEpoch, .accountInUse, .owningAccountRequired, .revocationUnderWay,
        ]
        let others: [any Error] = [AccountSwitched(), Unknown()]
        return [refusals, request, account, push, cloud, store, commits, switches, others]
            .flatMap { $0 as [any Error] }
    }()

    /// The table of section 4.2 in docs/protocol.md: code to status and `retryable`.
    private static let documented: [String: (status: Int, isRetryable: Bool)] = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let text = (try? String(contentsOf: root.appendingPathComponent("docs/protocol.md"), encoding: .utf8)) ?? ""
        var table: [String: (status: Int, isRetryable: Bool)] = [:]
        for line in text.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let status = Int(cells[0]), ["yes", "no"].contains(cells[2]),
                cells[1].hasPrefix("`")
            else { continue }
            table[cells[1].trimmingCharacters(in: ["`"])] = (status, cells[2] == "yes")
        }
        return table
    }()

    /// Codes that nginx sends, or that belong to endpoints and settings that do not exist yet.
    private static let ofOthers: Set = [
        "bad_request", "not_found", "server_error", "server_unavailable", "server_timeout", "too_many_requests",
    ]

    @Test("Every error has the status and the retryability that docs/protocol.md gives its code")
    func matchesDocumentation() throws {
        #expect(Self.documented.count > 50)
        for error in Self.samples {
            let refusal = Refusal(for: error)
            let row = try #require(Self.documented[refusal.code.rawValue], "\(refusal.code) is not documented")
            #expect(refusal.status == row.status, "\(refusal.code)")
            #expect(refusal.code.isRetryable == row.isRetryable, "\(refusal.code)")
        }
    }

    @Test("Every documented code is sent for at least one error")
    func everyCodeIsReachable() {
        let reached = Set(Self.samples.map { Refusal(for: $0).code.rawValue })

        #expect(Set(Self.documented.keys).subtracting(reached) == Self.ofOthers)
    }

    @Test("A response contains no text from a provider or the database")
    func noDetails() {
        for error in Self.samples {
            var text = ""
            dump(Refusal(for: error), to: &text)
            #expect(!text.contains("s3cret"), "\(error)")
        }
    }

    @Test("Only 410 has a goneReason, and only for members, owners and their authorisation")
    func goneReasons() {
        var reasons: [String: GoneReason] = [:]
        for error in Self.samples {
            let refusal = Refusal(for: error)
            guard let reason = refusal.goneReason else { continue }
            #expect(refusal.status == 410)
            reasons[refusal.code.rawValue] = reason
        }

        #expect(
            reasons == [
                "not_a_member": .userRemoved, "owner_removed": .userRemoved,
                "cloud_authorization_revoked": .authTokenExpiredOrRevoked,
            ])
    }

    @Test("Retry-After contains the delay if it is known, and accompanies each 429 and 503")
    func retryAfter() {
        for refusal in Self.samples.map({ Refusal(for: $0) }) where [429, 503].contains(refusal.status) {
            #expect(refusal.retryAfter != nil, "\(refusal.code)")
        }
        #expect(Refusal(for: CloudStorageError.rateLimited(retryAfter: .seconds(17))).retryAfter == .seconds(17))
        #expect(Refusal(for: CloudStorageError.rateLimited(retryAfter: nil)).retryAfter == nil)
        #expect(Refusal(for: StoreError.busy).retryAfter == .seconds(1))
        #expect(Refusal(for: CloudStorageError.quotaExceeded).retryAfter == nil)
    }

    @Test("503 means database failures, maintenance or a rebuild; 401 an error that a new sign-in would fix")
    func reservedStatuses() {
        let codes = { (status: Int) in
            Set(Self.samples.map { Refusal(for: $0) }.filter { $0.status == status }.map(\.code.rawValue))
        }

        #expect(codes(503) == ["database_unavailable", "maintenance", "restoring"])
        #expect(
            codes(401) == [
                "credentials_missing", "sign_in_type_not_allowed", "credentials_rejected", "user_unknown",
                "account_retired",
            ])
        #expect(
            codes(403) == [
                "server_accepts_any_password", "storage_unusable", "server_not_allowed", "storage_account_required",
            ])
    }
}
