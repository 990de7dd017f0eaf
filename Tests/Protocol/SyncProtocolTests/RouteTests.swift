import Foundation
import SyncProtocol
import Testing

@Suite("Routes, headers and error bodies")
struct RouteTests {
    @Test("Each path is found with or without a trailing slash", arguments: EndpointName.allCases)
    func found(endpoint: EndpointName) {
        let route = endpoint.route
        for path in ["/\(endpoint.rawValue)", "/\(endpoint.rawValue)/"] {
            #expect(RouteLookup(method: route.method.rawValue, path: path, debug: true) == .found(route))
        }
    }

    @Test(
        "Any other name is an unknown path",
        arguments: [
            "", "/", "//", "/index/", "/Index//", "//Index", "Index", "/Index/x", "/x/Index/", "/Index ", "/INDEX",
        ])
    func unknown(path: String) {
        #expect(RouteLookup(method: "GET", path: path) == .unknownPath)
    }

    @Test("A known path with another method reports the allowed one")
    func wrongMethod() {
        #expect(RouteLookup(method: "POST", path: "/Index/") == .methodNotAllowed(allowed: .get))
        #expect(RouteLookup(method: "get", path: "/Index/") == .methodNotAllowed(allowed: .get))
        #expect(RouteLookup(method: "POST", path: "/UploadDeletion/") == .methodNotAllowed(allowed: .delete))
        #expect(RouteLookup(method: "POST", path: "/UpdateSharingGroup") == .methodNotAllowed(allowed: .patch))
    }

    @Test("CheckPrimaryCreds exists in debug builds only")
    func debugOnly() {
        #expect(RouteLookup(method: "GET", path: "/CheckPrimaryCreds/") == .unknownPath)
        #expect(RouteLookup(method: "POST", path: "/CheckPrimaryCreds/") == .unknownPath)
        #expect(
            RouteLookup(method: "GET", path: "/CheckPrimaryCreds/", debug: true)
                == .found(EndpointName.checkPrimaryCreds.route))
    }

    @Test("A configured prefix is required")
    func prefix() {
        let index = RouteLookup.found(EndpointName.index.route)
        #expect(RouteLookup(method: "GET", path: "/api/v1/Index/", prefix: "/api/v1") == index)
        #expect(RouteLookup(method: "GET", path: "/Index/", prefix: "/api/v1") == .unknownPath)
        #expect(RouteLookup(method: "GET", path: "/api/v1Index/", prefix: "/api/v1") == .unknownPath)
    }

    @Test("Methods, levels and kinds match the protocol's table")
    func table() {
        let routes = EndpointName.allCases.map(\.route)
        func names(_ condition: (EndpointRoute) -> Bool) -> Set<EndpointName> {
            Set(routes.filter(condition).map(\.endpoint))
        }
        #expect(routes.count == 43)
        #expect(routes.map(\.endpoint) == EndpointName.allCases)
        #expect(
            names { $0.authentication == .none } == [
                .healthCheck, .getSharingInvitationInfo, .appleNotifications, .uploadOptions,
            ])
        #expect(
            names { $0.authentication == .primary } == [
                .checkPrimaryCreds, .addUser, .redeemSharingInvitation, .beginAccountSwitch, .confirmAccountSwitch,
                .getAccountSwitchStatus, .cancelAccountSwitch, .undoAccountSwitch,
            ])
        #expect(
            names { $0.responseKind == .header } == [
                .uploadFile, .reuploadFile, .createUpload, .uploadOptions, .getUploadOffset, .appendToUpload,
                .abandonUpload,
            ])
        #expect(names { $0.responseKind == .data } == [.downloadFile])
        #expect(names { $0.method == .delete } == [.uploadDeletion, .abandonUpload])
        #expect(names { $0.method == .patch } == [.updateSharingGroup, .updateSharingGroupMember, .appendToUpload])
        #expect(names { $0.method == .head } == [.getUploadOffset])
        #expect(names { $0.method == .options } == [.uploadOptions])
        #expect(
            names { $0.method == .get } == [
                .healthCheck, .checkPrimaryCreds, .checkCreds, .index, .changes, .getUploads, .downloadFile,
                .downloadAppMetaData, .getSharingInvitationInfo, .getSharingInvitations, .getSharingGroupMembers,
                .getAccountSwitchStatus,
            ])
        #expect(
            names { $0.groupAccess == .permission(.write) } == [
                .uploadFile, .uploadSmallFiles, .reuploadFile, .createUpload, .appendToUpload, .uploadAppMetaData,
                .uploadDeletion, .getUploads, .doneUploads, .discardUploads,
            ])
        #expect(
            names { $0.groupAccess == .permission(.read) } == [
                .downloadFile, .downloadAppMetaData, .getSharingGroupMembers,
            ])
        #expect(
            names { $0.groupAccess == .permission(.admin) } == [
                .createSharingInvitation, .updateSharingGroup, .removeSharingGroup, .getSharingInvitations,
                .revokeSharingInvitation, .updateSharingGroupMember, .removeSharingGroupMember,
            ])
        #expect(names { $0.groupAccess == .membership } == [.removeUserFromSharingGroup])
        #expect(names { $0.groupAccess == .membershipIfNamed } == [.index])
    }

    @Test("Request headers have their FastCGI names")
    func requestHeaders() {
        #expect(RequestHeader.tokenType.fastCGIParameter == "HTTP_X_TOKEN_TYPE")
        #expect(RequestHeader.accessToken.fastCGIParameter == "HTTP_ACCESS_TOKEN")
        #expect(RequestHeader.deviceUUID.fastCGIParameter == "HTTP_SYNCSERVER_DEVICE_UUID")
        #expect(RequestHeader.microsoftAccessToken.fastCGIParameter == "HTTP_X_MICROSOFT_ACCESS_TOKEN")
        #expect(RequestHeader.failureTest.fastCGIParameter == "HTTP_SYNCSERVER_FAILURETEST")
    }

    @Test("Response headers are in lower case", arguments: ResponseHeader.allCases)
    func responseHeaders(header: ResponseHeader) {
        #expect(header.rawValue == header.rawValue.lowercased())
    }

    @Test("An error body has the members that clients and developers need")
    func errorBody() throws {
        let body = ErrorBody(
            error: "owner is no longer on the system", code: "owner_removed", requestId: "abc", retryable: false,
            goneReason: .userRemoved)
        #expect(
            body.headerText == """
                {"error":"owner is no longer on the system","code":"owner_removed","requestId":"abc",\
                "retryable":false,"goneReason":"userRemoved"}
                """)
        #expect(try JSONDecoder().decode(ErrorBody.self, from: Data(body.body)) == body)
    }

    @Test("An error body is also a problem details object, with status and title, and with detail on request")
    func problem() throws {
        let plain = ErrorBody(
            error: "the file is deleted", code: "file_deleted", requestId: "abc", retryable: false, status: 409)
        let problem = ErrorBody(
            error: "the file is deleted", code: "file_deleted", requestId: "abc", retryable: false, status: 409,
            isProblem: true)

        #expect(
            plain.headerText == """
                {"error":"the file is deleted","code":"file_deleted","requestId":"abc","retryable":false,\
                "title":"Conflict","status":409}
                """)
        #expect(problem.headerText == plain.headerText.dropLast() + #","detail":"the file is deleted"}"#)
        #expect(try JSONDecoder().decode(ErrorBody.self, from: Data(problem.body)) == problem)
    }

    @Test(
        "An error body stays below 1 KiB and valid JSON, however long its message",
        arguments: ["a", "\"", "😀", "ä", "\0"])
    func errorBodySize(unit: String) throws {
        let body = ErrorBody(
            error: String(repeating: unit, count: 5_000), code: String(repeating: "c", count: 500),
            requestId: "a\n\"b" + String(repeating: "r", count: 500), retryable: true, goneReason: .userRemoved)
        let problem = ErrorBody(
            error: body.error, code: body.code, requestId: body.requestId, retryable: true, goneReason: .userRemoved,
            status: 410, isProblem: true)
        for bytes in [body.body, Array(body.headerText.utf8), problem.body, Array(problem.headerText.utf8)] {
            #expect(bytes.count < 1_024)
            #expect(bytes.count > 700 || unit != "a")
            _ = try JSONDecoder().decode(ErrorBody.self, from: Data(bytes))
        }
    }
}
