import SyncProtocol

/// How the server authenticates the caller, for each kind of access in the protocol's table.
///
/// It takes two steps, and the request's parameters are checked in between: that order determines which of several
/// errors is reported.
protocol ServedAccess: EndpointAccess {
    /// The person who presents credentials.
    associatedtype Person
    /// The caller that an endpoint gets.
    associatedtype Caller

    /// - Throws: ``EndpointError``, ``AccountError``, ``StoreError``.
    static func person(asking context: RequestContext) throws -> Person
    /// - Parameter route: the endpoint's row of the table.
    /// - Throws: ``EndpointError``, ``StoreError``.
    static func caller(_ person: Person, at route: EndpointRoute, in context: RequestContext) throws -> Caller
}

extension AnyoneAccess: ServedAccess {
    static func person(asking context: RequestContext) -> Anyone { Anyone() }
    static func caller(_ person: Anyone, at route: EndpointRoute, in context: RequestContext) -> Anyone { person }
}

extension SignedInAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) -> SignedInPerson { person }
}

extension UserAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) throws -> SignedInUser { try context.user(person, at: route) }
}

extension MemberAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) throws -> GroupCaller { GroupCaller(try context.user(person, at: route), route.groupAccess) }
}
