import SyncProtocol

/// How the server finds out who asks, for each kind of access that the protocol's table has.
///
/// In two steps, between which the request's parameters are looked at: that order decides what a request is told that is
/// wrong in several ways.
protocol ServedAccess: EndpointAccess {
    /// Whoever presents credentials.
    associatedtype Person
    /// What an endpoint gets.
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
    ) throws -> SignedInUser { try context.user(person) }
}

extension MemberAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) throws -> GroupCaller { GroupCaller(try context.user(person), route.groupAccess) }
}
